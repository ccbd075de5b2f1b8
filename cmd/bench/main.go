// Command bench measures freshet on a working tree, side by side with what it is compared
// to, and prints medians and ratios. Pairs run interleaved, so that a noisy machine slows
// both sides. It measures the whole program as a user runs it (index) or the host in this
// process (check, edit, query).
//
//	go run ./cmd/bench index -repo DIR -rival 'zoekt-index -index {dir} -require_ctags {repo}'
//	go run ./cmd/bench check -repo DIR
//	go run ./cmd/bench cookie -repo DIR
//	go run ./cmd/bench edit -repo DIR
//	go run ./cmd/bench query -repo DIR
//	go run ./cmd/bench mcp -repo DIR
//	go run ./cmd/bench flood -repo DIR
//	.ci/postgres go run ./cmd/bench clone -repo DIR
//	.ci/postgres go run ./cmd/bench workers -repo DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"

	"github.com/freshet/freshet/pipeline/chunk"
)

// settings are the flags that all measurements share.
type settings struct {
	repo    string
	rival   string
	program string
	pairs   int
	rounds  int
	calls   int
	profile string
	out     io.Writer
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// childVerb is the argument by which this program runs as a chunk child of itself.
const childVerb = "chunk-child"

func run(args []string) error {
	if len(args) == 1 && args[0] == childVerb {
		return chunk.ServeChild(os.Stdin, os.Stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return measurement(ctx, args)
}

func measurement(ctx context.Context, args []string) error {
	measures := map[string]func(context.Context, settings) error{
		"index": measureIndex, "check": measureCheck, "cookie": measureCookie, "edit": measureEdit, "query": measureQuery,
		"mcp": measureMCP, "flood": measureFlood, "clone": measureClone, "workers": measureWorkers,
	}
	if len(args) == 0 || measures[args[0]] == nil {
		return errors.New("name a measurement: index, check, cookie, edit, query, mcp, flood, clone or workers")
	}
	s := settings{out: os.Stdout}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&s.repo, "repo", ".", "the working tree to measure on")
	flags.StringVar(&s.rival, "rival", "", "index: the command to compare with; {repo} and {dir} are replaced")
	flags.StringVar(&s.program, "freshet", "", "index, mcp, flood, workers: the freshet to measure; built when empty")
	flags.IntVar(&s.pairs, "pairs", 5, "interleaved pairs of runs")
	flags.IntVar(&s.rounds, "n", 60, "edits or queries")
	flags.IntVar(&s.calls, "calls", 1, "workers: requests that each has with the embedding service at once")
	flags.StringVar(&s.profile, "cpuprofile", "", "check, edit, query: write a CPU profile of this process, which is the host")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var err error
	if s.repo, err = filepath.Abs(s.repo); err != nil {
		return err
	}
	if s.profile == "" {
		return measures[args[0]](ctx, s)
	}
	file, err := os.Create(s.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = measures[args[0]](ctx, s)
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

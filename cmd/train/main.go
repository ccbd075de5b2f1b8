// Command train makes the embedding model that freshet ships: it fetches the corpus that
// the manifest pins, mines pairs of texts, trains a table of word vectors and writes it
// with its manifest. It is not linked into freshet.
//
//	train fetch    bring the corpus into the cache; say which sources cannot be had
//	train build    mine, train, quantise, write the artifact
//	train mine     mine only, into a file for train fit
//	train fit      train only, from that file
//	train pin      print manifest lines for packages, at the versions that can be had now
//	train compare  print the files of the corpus that are near copies of other trees'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// verbs are the verbs by name.
func verbs() map[string]func(ctx context.Context, s *settings) error {
	return map[string]func(context.Context, *settings) error{
		"fetch": fetch, "mine": mineOnly, "fit": fitOnly, "build": build, "pin": pin, "compare": compare,
	}
}

var errUsage = errors.New("usage: train fetch|build|mine|fit|pin|compare [flags]")

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	verb := verbs()[args[0]]
	if verb == nil {
		return errUsage
	}
	s, flags := newSettings(args[0])
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	s.args = flags.Args()
	return verb(ctx, s)
}

// settings are the flags of all verbs.
type settings struct {
	manifest, cache, goroot, pairs, out string
	only                                string
	seed                                uint64
	workers, epochs, words              int
	args                                []string
}

func newSettings(verb string) (*settings, *flag.FlagSet) {
	s := &settings{}
	flags := flag.NewFlagSet("train "+verb, flag.ContinueOnError)
	flags.StringVar(&s.manifest, "manifest", "cmd/train/manifest.txt", "the corpus `manifest`")
	flags.StringVar(&s.cache, "cache", ".corpus", "`folder` of fetched sources")
	flags.StringVar(&s.goroot, "goroot", os.Getenv("GOROOT"), "the Go distribution; default that of the go command")
	flags.StringVar(&s.pairs, "pairs", "pairs.bin", "`file` of mined pairs")
	flags.StringVar(&s.out, "out", "pipeline/embedding/builtin/model", "`folder` for the artifact")
	flags.StringVar(&s.only, "only", "", "only sources of this `kind`")
	flags.Uint64Var(&s.seed, "seed", 1, "of the training")
	flags.IntVar(&s.workers, "workers", 1, "goroutines of the training; they do not change the result")
	flags.IntVar(&s.epochs, "epochs", 3, "passes over the pairs")
	flags.IntVar(&s.words, "words", 24000, "most words of the table")
	return s, flags
}

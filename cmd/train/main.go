// Command train makes the embedding model that freshet ships: it fetches the corpus that
// the manifest pins, mines pairs of texts, trains a table of word vectors and writes it
// with its manifest. It is not linked into freshet.
//
//	train fetch    bring the corpus into the cache; say which sources cannot be had
//	train build    mine, train, quantise, write the artifact; near copies of the trees that
//	               are named are left out and printed as lines for the manifest
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

	"github.com/freshet/freshet/cmd/train/fit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
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
	words, sample                       int
	fit                                 fit.Options
	args                                []string
}

func newSettings(verb string) (*settings, *flag.FlagSet) {
	s := &settings{fit: fit.Defaults()}
	flags := flag.NewFlagSet("train "+verb, flag.ContinueOnError)
	flags.StringVar(&s.manifest, "manifest", "cmd/train/manifest.txt", "the corpus `manifest`")
	flags.StringVar(&s.cache, "cache", ".corpus", "`folder` of fetched sources")
	flags.StringVar(&s.goroot, "goroot", os.Getenv("GOROOT"), "the Go distribution; default that of the go command")
	flags.StringVar(&s.pairs, "pairs", "pairs.bin", "`file` of mined pairs")
	flags.StringVar(&s.out, "out", "pipeline/embedding/builtin/model", "`folder` for the artifact")
	flags.StringVar(&s.only, "only", "", "only sources of this `kind`")
	flags.Uint64Var(&s.fit.Seed, "seed", s.fit.Seed, "of the training")
	flags.IntVar(&s.fit.Workers, "workers", s.fit.Workers, "goroutines of the training; they do not change the result")
	flags.IntVar(&s.fit.Epochs, "epochs", s.fit.Epochs, "passes over the pairs")
	flags.IntVar(&s.words, "words", 24000, "most words of the table")
	flags.IntVar(&s.sample, "sample", 1, "learn from one pair in `n` only, for a quick trial")
	flags.IntVar(&s.fit.BlockSize, "block", s.fit.BlockSize, "pairs that are each other's negatives")
	flags.IntVar(&s.fit.Blocks, "blocks", s.fit.Blocks, "blocks of a step")
	flags.IntVar(&s.fit.QueryWords, "query-words", s.fit.QueryWords, "most distinct words of a query")
	flags.IntVar(&s.fit.CodeWords, "code-words", s.fit.CodeWords, "most distinct words of a piece of code")
	flags.BoolVar(&s.fit.Places, "places", s.fit.Places, "add the words of its path to code")
	flags.Float64Var(&s.fit.Temperature, "temperature", s.fit.Temperature, "of the loss")
	flags.Float64Var(&s.fit.Rate, "rate", s.fit.Rate, "of learning")
	flags.Float64Var(&s.fit.AskedRate, "asked", s.fit.AskedRate, "rate of learning the weights in queries; 0 leaves them at 1")
	return s, flags
}

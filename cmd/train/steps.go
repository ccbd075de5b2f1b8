package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/cmd/train/corpus"
	"github.com/freshet/freshet/cmd/train/fit"
	"github.com/freshet/freshet/cmd/train/mine"
	"github.com/freshet/freshet/cmd/train/pairs"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

func open(ctx context.Context, s *settings) (*corpus.Manifest, *corpus.Cache, error) {
	m, err := corpus.ReadManifest(s.manifest)
	if err != nil {
		return nil, nil, err
	}
	goroot, err := corpus.GOROOT(ctx, s.goroot)
	if err != nil {
		return nil, nil, err
	}
	if s.only != "" {
		m.Sources = slices.DeleteFunc(m.Sources, func(x corpus.Source) bool { return x.Kind != s.only })
	}
	return m, &corpus.Cache{Dir: s.cache, GOROOT: goroot}, nil
}

// fetch brings the corpus into the cache. Sources that cannot be had are named at the end.
func fetch(ctx context.Context, s *settings) error {
	m, cache, err := open(ctx, s)
	if err != nil {
		return err
	}
	missing := 0
	for i, source := range m.Sources {
		if err := cache.Fetch(ctx, source); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			missing++
			fmt.Fprintf(os.Stderr, "missing: %v\n", err)
			continue
		}
		if i%20 == 19 {
			fmt.Fprintf(os.Stderr, "%d of %d sources\n", i+1, len(m.Sources))
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d sources cannot be had: %w", missing, len(m.Sources), corpus.ErrGone)
	}
	fmt.Fprintf(os.Stderr, "all %d sources are there\n", len(m.Sources))
	return nil
}

// gather mines the pairs of every source that is in the cache.
func gather(ctx context.Context, s *settings) (*pairs.Set, *corpus.Manifest, error) {
	m, cache, err := open(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	set := pairs.New()
	miner, exclusion := mine.New(set, mine.Defaults()), corpus.NewExclusion()
	start := time.Now()
	for _, source := range m.Sources {
		if exclusion.Package(source.Name) {
			return nil, nil, fmt.Errorf("%s is a project of the evaluation", source)
		}
		without := map[string]bool{}
		for _, name := range m.Without[source.String()] {
			without[name] = true
		}
		err := cache.Walk(ctx, source, corpus.Visit{
			Wants: func(name string, size int64) bool {
				return miner.Wants(name, size) && !without[name] && !exclusion.File(name)
			},
			File: func(name string, data []byte) error {
				miner.Source(part(source, name))
				miner.File(name, data)
				return ctx.Err()
			},
		})
		if errors.Is(err, corpus.ErrGone) {
			fmt.Fprintf(os.Stderr, "missing: %v\n", err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
	}
	fmt.Fprintf(os.Stderr, "%d files, %d MB, %d pairs in %v\n", miner.Files, miner.Bytes>>20, len(set.Pairs),
		time.Since(start).Round(time.Second))
	counts := set.Count()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(os.Stderr, "%-12s", name)
		for kind, n := range counts[name] {
			fmt.Fprintf(os.Stderr, " %s %d", pairs.Kind(kind), n)
		}
		fmt.Fprintln(os.Stderr)
	}
	return set, m, nil
}

// part is the source that a file counts for: of the Go distribution each package is one, or
// its two or three best documented would fill its caps.
func part(s corpus.Source, name string) string {
	if s.Kind != corpus.Go {
		return s.String()
	}
	folders := strings.Split(name, "/")
	return s.String() + "/" + strings.Join(folders[:min(len(folders)-1, 2)], "/")
}

func mineOnly(ctx context.Context, s *settings) error {
	set, _, err := gather(ctx, s)
	if err != nil {
		return err
	}
	return set.Save(s.pairs)
}

func fitOnly(ctx context.Context, s *settings) error {
	set, err := pairs.Load(s.pairs)
	if err != nil {
		return err
	}
	m, err := corpus.ReadManifest(s.manifest)
	if err != nil {
		return err
	}
	return train(ctx, s, set, m)
}

func build(ctx context.Context, s *settings) error {
	set, m, err := gather(ctx, s)
	if err != nil {
		return err
	}
	return train(ctx, s, set, m)
}

// heldOut is the share of the pairs that is kept from training: one in so many.
const heldOut = 100

func train(ctx context.Context, s *settings, set *pairs.Set, m *corpus.Manifest) error {
	held := fit.Split(set, heldOut)
	v := fit.NewVocabulary(set, fit.VocabularyOptions{MinCount: 12, MinSources: min(3, len(set.Sources)), MaxWords: s.words})
	fmt.Fprintf(os.Stderr, "%d words, %d pairs, %d held out\n", len(v.Words), len(set.Pairs), len(held))
	o := fit.Defaults()
	o.Seed, o.Workers, o.Epochs = s.seed, s.workers, s.epochs
	start := time.Now()
	o.Report = func(step, steps int, loss float64) {
		fmt.Fprintf(os.Stderr, "step %d of %d, loss %.4f, %v\n", step, steps, loss, time.Since(start).Round(time.Second))
	}
	model, err := fit.Train(ctx, set, v, o)
	if err != nil {
		return err
	}
	ranks := fit.Rank(model, v, set, held, 500)
	for _, name := range slices.Sorted(maps.Keys(ranks)) {
		fmt.Fprintf(os.Stderr, "held-out MRR %-12s %.3f\n", name, ranks[name])
	}
	data, err := model.Quantise(v)
	if err != nil {
		return err
	}
	return write(s, m, data, builtin.Card{Words: len(v.Words), Dimension: model.Dimension, Pairs: len(set.Pairs), Seed: s.seed,
		Epochs: s.epochs, MRR: ranks[""]})
}

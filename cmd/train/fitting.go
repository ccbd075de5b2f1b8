package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/freshet/freshet/cmd/train/corpus"
	"github.com/freshet/freshet/cmd/train/fit"
	"github.com/freshet/freshet/cmd/train/pairs"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

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
	fit.Balance(set, fit.DefaultCaps())
	held := fit.Split(set, heldOut)
	if s.sample > 1 {
		fit.Sample(set, s.sample)
	}
	v := fit.NewVocabulary(set, fit.VocabularyOptions{MinCount: 12, MinSources: min(3, len(set.Sources)), MaxWords: s.words})
	fmt.Fprintf(os.Stderr, "%d words, %d pairs, %d held out\n", len(v.Words), len(set.Pairs), len(held))
	o := s.fit
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
	return write(s, m, data, builtin.Card{Words: len(v.Words), Dimension: model.Dimension, Pairs: len(set.Pairs), Seed: o.Seed,
		Epochs: o.Epochs, MRR: ranks[""]})
}

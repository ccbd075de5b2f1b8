package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/freshet/freshet/cmd/train/corpus"
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

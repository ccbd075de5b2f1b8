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
	"github.com/freshet/freshet/cmd/train/mine"
	"github.com/freshet/freshet/cmd/train/pairs"
)

// gathering is the mining of the sources of a manifest into a set.
type gathering struct {
	cache     *corpus.Cache
	set       *pairs.Set
	miner     *mine.Miner
	exclusion *corpus.Exclusion
	apart     *apart
}

// gather mines the pairs of every source that is in the cache. Files that are near copies
// of the trees named as arguments are left out and printed.
func gather(ctx context.Context, s *settings) (*pairs.Set, *corpus.Manifest, error) {
	m, cache, err := open(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	apart, err := keepApart(s.args)
	if err != nil {
		return nil, nil, err
	}
	set := pairs.New()
	g := &gathering{cache: cache, set: set, miner: mine.New(set, mine.Defaults()), exclusion: corpus.NewExclusion(), apart: apart}
	start := time.Now()
	for _, source := range m.Sources {
		switch err := g.source(ctx, source, m.Without[source.String()]); {
		case errors.Is(err, corpus.ErrGone):
			fmt.Fprintf(os.Stderr, "missing: %v\n", err)
		case err != nil:
			return nil, nil, err
		}
	}
	fmt.Fprintf(os.Stderr, "%d files, %d MB, %d pairs in %v\n", g.miner.Files, g.miner.Bytes>>20, len(set.Pairs),
		time.Since(start).Round(time.Second))
	report(set)
	return set, m, nil
}

func (g *gathering) source(ctx context.Context, source corpus.Source, without []string) error {
	if g.exclusion.Package(source.Name) {
		return fmt.Errorf("%s is a project of the evaluation", source)
	}
	leftOut := map[string]bool{}
	for _, name := range without {
		leftOut[name] = true
	}
	return g.cache.Walk(ctx, source, corpus.Visit{
		Wants: func(name string, size int64) bool {
			return g.miner.Wants(name, size) && !leftOut[name] && !g.exclusion.File(name)
		},
		File: func(name string, data []byte) error {
			if !g.apart.copied(source, name, data) {
				g.miner.Source(part(source, name))
				g.miner.File(name, data)
			}
			return ctx.Err()
		},
	})
}

// report prints how many pairs there are of each language and kind.
func report(set *pairs.Set) {
	counts := set.Count()
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(os.Stderr, "%-12s", name)
		for kind, n := range counts[name] {
			fmt.Fprintf(os.Stderr, " %s %d", pairs.Kind(kind), n)
		}
		fmt.Fprintln(os.Stderr)
	}
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

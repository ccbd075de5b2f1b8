package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// errDryRun rolls a collection back.
var errDryRun = errors.New("dry run")

// vacuumPages is the most pages that one collection gives back to the file system.
const vacuumPages = 16384

// Collect removes snapshots beyond the retention and what none of the others reaches, in
// one transaction, and then the files and pages that are free.
func (s *Store) Collect(ctx context.Context, r store.Retention) (collected store.Collected, err error) {
	err = s.writeThen(ctx, func(c *session) error {
		g := collection{
			s: s, c: c, young: s.now().Add(-store.CollectGrace).UnixNano(),
			contents: map[merkle.Hash]bool{}, segments: map[store.SegmentID]bool{}, versions: map[int64]bool{}, embeddings: map[int64]bool{},
			recipes: map[store.Fingerprint]bool{},
		}
		if err := g.run(ctx, r); err != nil {
			return fmt.Errorf("collect: %w", err)
		}
		collected = g.collected
		if r.DryRun {
			return errDryRun
		}
		return nil
	}, s.reclaim)
	if errors.Is(err, errDryRun) {
		err = nil
	}
	if err != nil {
		return store.Collected{}, err
	}
	return collected, nil
}

// reclaim gives back what a collection freed. What fails here is only put off.
func (s *Store) reclaim(c *session) {
	if err := s.sweepSegments(c, false); err != nil {
		s.log.Warn("segments are left over", "error", err)
	}
	if err := c.exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages)); err != nil {
		s.log.Warn("free pages are left over", "error", err)
	}
}

// collection is one run of the collector: what the retained snapshots reach, and what was
// removed so far.
type collection struct {
	s          *Store
	c          *session
	young      int64 // contents and segments put after this stay
	contents   map[merkle.Hash]bool
	segments   map[store.SegmentID]bool
	versions   map[int64]bool
	embeddings map[int64]bool
	recipes    map[store.Fingerprint]bool
	collected  store.Collected
}

func (g *collection) run(ctx context.Context, r store.Retention) error {
	codebases, err := g.c.codebases()
	if err != nil {
		return err
	}
	for _, b := range codebases {
		if err := g.codebase(b, r); err != nil {
			return fmt.Errorf("codebase %s: %w", b.ID, err)
		}
	}
	for _, step := range []func() error{g.markManifest, g.sweepContents, g.sweepSyntax, g.sweepSegments, g.sweepRecipes} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (g *collection) codebase(b codebase, r store.Retention) error {
	all, err := g.c.snapshots(b)
	if err != nil {
		return err
	}
	keep := r.Retained(b.Codebase, plain(all))
	var left []snapshot
	for _, n := range all {
		if !keep[n.Number] {
			g.collected.Snapshots++
			if err := g.c.exec("DELETE FROM snapshots WHERE codebase = ? AND number = ?", b.key, int64(n.Number)); err != nil {
				return err
			}
			continue
		}
		left = append(left, n)
		if err := g.markRecipe(n.Fingerprint); err != nil {
			return err
		}
		for _, id := range n.segments {
			g.segments[id] = true
		}
	}
	if err := g.trimManifest(b, left); err != nil {
		return err
	}
	return g.dropFailures(b)
}

func (g *collection) markRecipe(fp store.Fingerprint) error {
	if g.recipes[fp] {
		return nil
	}
	g.recipes[fp] = true
	recipe, err := g.c.recipe(fp)
	if err != nil {
		return err
	}
	names := []string{recipe.SyntaxVersion("")}
	for language := range recipe.Grammars {
		names = append(names, recipe.SyntaxVersion(language))
	}
	for _, name := range names {
		id, err := g.c.name(name)
		if err != nil {
			return err
		}
		g.versions[id] = true
	}
	id, err := g.c.name(recipe.Embedding.Key())
	g.embeddings[id] = true
	return err
}

// dropFailures removes failures of files that no snapshot has.
func (g *collection) dropFailures(b codebase) error {
	failures, err := g.c.failures(b, "")
	if err != nil {
		return err
	}
	for _, f := range failures {
		named := false
		err := g.c.eachFile(b, "SELECT path, first, last, body FROM manifest WHERE codebase = ? AND path = ? AND first < last AND length(body) > ?",
			[]any{b.key, blob(f.Path), sumSize}, func(entry store.FileEntry) error {
				named = named || entry.Content == f.Content
				return nil
			})
		if err != nil {
			return err
		}
		if named {
			continue
		}
		if err := g.c.dropFailure(b, f); err != nil {
			return err
		}
	}
	return nil
}

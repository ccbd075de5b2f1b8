package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// errDryRun rolls a collection back.
var errDryRun = errors.New("dry run")

// vacuumPages is the most pages that one collection gives back to the file system.
const vacuumPages = 16384

// Collect removes snapshots beyond the retention and what none of the others reaches, in
// one transaction, and then the files and pages that are free.
func (s *Store) Collect(ctx context.Context, retention store.Retention) (collected store.Collected, err error) {
	err = s.writeThen(ctx, func(c *session) error {
		if collected, err = rules.Collect(ctx, s.rowsOf(c), retention, s.now()); err != nil {
			return err
		}
		if retention.DryRun {
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

// DropSnapshots drops snapshots.
func (r *rows) DropSnapshots(_ context.Context, id store.CodebaseID, numbers []uint64) error {
	b, err := r.codebase(id)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if err := r.c.exec("DELETE FROM snapshots WHERE codebase = ? AND number = ?", b.key, int64(n)); err != nil {
			return fmt.Errorf("drop snapshot %d: %w", n, err)
		}
	}
	return nil
}

// TrimFailures removes failures of files that no snapshot has.
func (r *rows) TrimFailures(_ context.Context, id store.CodebaseID) error {
	b, err := r.codebase(id)
	if err != nil {
		return err
	}
	failures, err := r.c.failures(b, "")
	if err != nil {
		return err
	}
	for _, f := range failures {
		named := false
		err := r.c.eachFile("WHERE codebase = ? AND path = ? AND content = ?", []any{b.key, blob(f.Path), f.Content[:]}, func(fileRow) error {
			named = true
			return nil
		})
		if err != nil {
			return err
		}
		if named {
			continue
		}
		if err := r.c.dropFailure(b, f); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what no snapshot reaches, and what was removed so far.
type sweep struct {
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

// Sweep removes what no snapshot reaches.
func (r *rows) Sweep(ctx context.Context, young time.Time, reached rules.Reached) (store.Collected, error) {
	g := sweep{
		s: r.s, c: r.c, young: young.UnixNano(),
		contents: map[merkle.Hash]bool{}, segments: map[store.SegmentID]bool{}, versions: map[int64]bool{}, embeddings: map[int64]bool{},
		recipes: map[store.Fingerprint]bool{},
	}
	for _, fp := range reached.Recipes {
		g.recipes[fp] = true
	}
	for marks, names := range map[*map[int64]bool][]string{&g.versions: reached.Versions, &g.embeddings: reached.Embeddings} {
		for _, name := range names {
			id, err := r.c.name(name)
			if err != nil {
				return store.Collected{}, err
			}
			(*marks)[id] = true
		}
	}
	for id := range r.known {
		all, err := r.Snapshots(ctx, id)
		if err != nil {
			return store.Collected{}, err
		}
		for _, n := range all {
			for _, sid := range n.Segments {
				g.segments[sid] = true
			}
		}
	}
	for _, step := range []func() error{g.markManifest, g.sweepContents, g.sweepSyntax, g.sweepSegments, g.sweepRecipes} {
		if err := ctx.Err(); err != nil {
			return store.Collected{}, err
		}
		if err := step(); err != nil {
			return store.Collected{}, err
		}
	}
	return g.collected, nil
}

package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Codebase returns one codebase.
func (s *Store) Codebase(ctx context.Context, id store.CodebaseID) (found store.Codebase, err error) {
	err = s.read(ctx, func() error {
		found, err = rows{s}.Codebase(ctx, id)
		return err
	})
	return found, err
}

// Codebases lists all, sorted by name, then id.
func (s *Store) Codebases(ctx context.Context) (all []store.Codebase, err error) {
	err = s.read(ctx, func() error {
		all, err = rows{s}.Codebases(ctx)
		rules.SortCodebases(all)
		return err
	})
	return all, err
}

// Register adds a codebase, or returns the one that has its place and root.
func (s *Store) Register(ctx context.Context, c store.Codebase) (registered store.Codebase, err error) {
	err = s.write(ctx, func() error {
		registered, err = rules.Register(ctx, rows{s}, c, s.now())
		return err
	})
	return registered, err
}

// SetIdentity records the identity of the codebase's root.
func (s *Store) SetIdentity(ctx context.Context, id store.CodebaseID, identity store.RootIdentity) error {
	return s.changeCodebase(ctx, id, func(c *codebase) { c.Identity = identity })
}

// SetFailure records why indexing failed.
func (s *Store) SetFailure(ctx context.Context, id store.CodebaseID, reason string) error {
	return s.changeCodebase(ctx, id, func(c *codebase) { c.Failure = reason })
}

func (s *Store) changeCodebase(ctx context.Context, id store.CodebaseID, change func(c *codebase)) error {
	return s.write(ctx, func() error {
		c, err := s.codebase(id)
		if err == nil {
			change(c)
		}
		return err
	})
}

// Clear removes a codebase. Its committed events stay in the outbox.
func (s *Store) Clear(ctx context.Context, id store.CodebaseID) error {
	return s.write(ctx, func() error { return rules.Clear(ctx, rows{s}, id) })
}

// rows are the rows of a store whose lock is held.
type rows struct{ s *Store }

var (
	_ rules.Rows        = rows{}
	_ rules.CollectRows = rows{}
	_ rules.LeaseRows   = rows{}
)

func (r rows) Codebase(_ context.Context, id store.CodebaseID) (store.Codebase, error) {
	c, err := r.s.codebase(id)
	if err != nil {
		return store.Codebase{}, err
	}
	return c.Codebase, nil
}

func (r rows) Codebases(context.Context) (all []store.Codebase, err error) {
	for _, c := range r.s.codebases {
		all = append(all, c.Codebase)
	}
	return all, nil
}

func (r rows) CodebaseAt(_ context.Context, place, root string) (store.Codebase, error) {
	for _, c := range r.s.codebases {
		if c.Place == place && c.Root == root {
			return c.Codebase, nil
		}
	}
	return store.Codebase{}, fmt.Errorf("codebase at %q: %w", root, store.ErrNotFound)
}

func (r rows) AddCodebase(_ context.Context, c store.Codebase) (bool, error) {
	if _, taken := r.s.codebases[c.ID]; taken {
		return false, nil
	}
	r.s.codebases[c.ID] = &codebase{
		Codebase:  c,
		snapshots: map[uint64]*snapshot{},
		stats:     map[string]store.StatEntry{},
		failures:  map[failureKey]store.Failure{},
	}
	return true, nil
}

func (r rows) PutHeads(_ context.Context, c store.Codebase) error {
	held := r.s.codebases[c.ID]
	held.Current, held.Latest = c.Current, c.Latest
	return nil
}

func (r rows) EndGraceOf(ctx context.Context, id store.CodebaseID) error {
	for _, n := range r.s.codebases[id].snapshots {
		if err := r.EndGraceOfSegments(ctx, n.segments); err != nil {
			return err
		}
		for _, f := range n.files {
			if held, ok := r.s.contents[f.Content]; ok {
				held.at = time.Time{}
				r.s.contents[f.Content] = held
			}
		}
	}
	return nil
}

func (r rows) DropCodebase(_ context.Context, id store.CodebaseID) error {
	delete(r.s.codebases, id)
	return nil
}

func (r rows) DropSessions(context.Context) error {
	clear(r.s.sessions)
	return nil
}

func (r rows) Snapshots(_ context.Context, id store.CodebaseID) (all []rules.Snapshot, err error) {
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(r.s.codebases[id].snapshots))) {
		n := r.s.codebases[id].snapshots[number]
		all = append(all, rules.Snapshot{Snapshot: n.Snapshot, Segments: n.segments})
	}
	return all, nil
}

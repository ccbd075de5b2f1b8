package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
)

// Codebase returns one codebase.
func (s *Store) Codebase(ctx context.Context, id store.CodebaseID) (found store.Codebase, err error) {
	err = s.read(ctx, func() error {
		c, err := s.codebase(id)
		if err == nil {
			found = c.Codebase
		}
		return err
	})
	return found, err
}

// Codebases lists all, sorted by name, then id.
func (s *Store) Codebases(ctx context.Context) (all []store.Codebase, err error) {
	err = s.read(ctx, func() error {
		for _, c := range s.codebases {
			all = append(all, c.Codebase)
		}
		slices.SortFunc(all, func(a, b store.Codebase) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
		})
		return nil
	})
	return all, err
}

// Register adds a codebase, or returns the one that has its place and root.
func (s *Store) Register(ctx context.Context, c store.Codebase) (registered store.Codebase, err error) {
	err = s.write(ctx, func() error {
		for _, other := range s.codebases {
			if other.Place == c.Place && other.Root == c.Root {
				registered = other.Codebase
				return nil
			}
		}
		if err := store.ValidCodebaseID(c.ID); err != nil {
			return err
		}
		if _, taken := s.codebases[c.ID]; taken {
			return fmt.Errorf("register codebase %s: the id has another root: %w", c.ID, store.ErrConflict)
		}
		registered = store.Codebase{
			ID: c.ID, Name: c.Name, Place: c.Place, Root: c.Root, Identity: c.Identity, RegisteredAt: instant(s.now()),
		}
		s.codebases[c.ID] = &codebase{
			Codebase:  registered,
			snapshots: map[uint64]*snapshot{},
			stats:     map[string]store.StatEntry{},
			failures:  map[failureKey]store.Failure{},
		}
		return nil
	})
	return registered, err
}

// SetIdentity records the identity of the codebase's root.
func (s *Store) SetIdentity(ctx context.Context, id store.CodebaseID, identity store.RootIdentity) error {
	return s.write(ctx, func() error {
		c, err := s.codebase(id)
		if err == nil {
			c.Identity = identity
		}
		return err
	})
}

// SetFailure records why indexing failed.
func (s *Store) SetFailure(ctx context.Context, id store.CodebaseID, reason string) error {
	return s.write(ctx, func() error {
		c, err := s.codebase(id)
		if err == nil {
			c.Failure = reason
		}
		return err
	})
}

// Clear removes a codebase. Its committed events stay in the outbox.
func (s *Store) Clear(ctx context.Context, id store.CodebaseID) error {
	return s.write(ctx, func() error {
		if b := s.codebases[id]; b != nil {
			s.age(b)
			clear(s.sessions)
		}
		delete(s.codebases, id)
		return nil
	})
}

// age ends the grace of the contents and segments that a codebase names.
func (s *Store) age(b *codebase) {
	for _, n := range b.snapshots {
		s.superseded(n.segments, nil)
		for _, f := range n.files {
			if held, ok := s.contents[f.Content]; ok {
				held.at = time.Time{}
				s.contents[f.Content] = held
			}
		}
	}
}

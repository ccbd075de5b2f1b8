package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
)

// Failures lists the failures of a codebase.
func (s *Store) Failures(ctx context.Context, id store.CodebaseID) (all []store.Failure, err error) {
	err = s.read(ctx, func() error {
		c, err := s.codebase(id)
		if err != nil {
			return err
		}
		for _, f := range c.failures {
			all = append(all, f)
		}
		slices.SortFunc(all, compareFailures)
		return nil
	})
	return all, err
}

// RecordFailure adds one try to a failure.
func (s *Store) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.write(ctx, func() error {
		c, err := s.codebase(f.Codebase)
		if err != nil {
			return err
		}
		key := failureKey{f.Path, f.Content, f.Stage, f.Version}
		before := c.failures[key]
		f.Tries = before.Tries + 1
		f.Parked = before.Parked || park || f.Tries >= store.MaxTries
		f.At = instant(f.At)
		if f.Parked && announce != nil {
			e, err := announce(f)
			if err != nil {
				return err
			}
			s.putOutbox([]store.OutboxEvent{e})
		}
		c.failures[key], recorded = f, f
		return nil
	})
	return recorded, err
}

// ForgetFailures removes failures and returns those that were parked.
func (s *Store) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.write(ctx, func() error {
		c, err := s.codebase(id)
		if err != nil {
			return err
		}
		for key, f := range c.failures {
			if path != "" && key.path != path {
				continue
			}
			if f.Parked {
				parked = append(parked, f)
			}
			delete(c.failures, key)
		}
		slices.SortFunc(parked, compareFailures)
		return nil
	})
	return parked, err
}

func compareFailures(a, b store.Failure) int {
	if a.Parked != b.Parked {
		if a.Parked {
			return -1
		}
		return 1
	}
	return cmp.Or(
		strings.Compare(a.Path, b.Path),
		bytes.Compare(a.Content[:], b.Content[:]),
		cmp.Compare(a.Stage, b.Stage),
		strings.Compare(a.Version, b.Version))
}

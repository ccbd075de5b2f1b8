package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Failures lists the failures of a codebase.
func (s *Store) Failures(ctx context.Context, id store.CodebaseID) (all []store.Failure, err error) {
	err = s.read(ctx, func() error {
		all, err = rules.Failures(ctx, rows{s}, id)
		return err
	})
	return all, err
}

// RecordFailure adds one try to a failure.
func (s *Store) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.write(ctx, func() error {
		recorded, err = rules.RecordFailure(ctx, rows{s}, f, park, announce)
		return err
	})
	return recorded, err
}

// ForgetFailures removes failures and returns those that were parked.
func (s *Store) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.write(ctx, func() error {
		parked, err = rules.ForgetFailures(ctx, rows{s}, id, path)
		return err
	})
	return parked, err
}

func keyOf(f store.Failure) failureKey { return failureKey{f.Path, f.Content, f.Stage, f.Version} }

func (r rows) Failures(_ context.Context, id store.CodebaseID) ([]store.Failure, error) {
	return slices.Collect(maps.Values(r.s.codebases[id].failures)), nil
}

func (r rows) Failure(_ context.Context, f store.Failure) (store.Failure, error) {
	return r.s.codebases[f.Codebase].failures[keyOf(f)], nil
}

func (r rows) PutFailure(_ context.Context, f store.Failure) error {
	r.s.codebases[f.Codebase].failures[keyOf(f)] = f
	return nil
}

func (r rows) DropFailures(_ context.Context, id store.CodebaseID, path string) (dropped []store.Failure, err error) {
	maps.DeleteFunc(r.s.codebases[id].failures, func(_ failureKey, f store.Failure) bool {
		if path != "" && f.Path != path {
			return false
		}
		dropped = append(dropped, f)
		return true
	})
	return dropped, nil
}

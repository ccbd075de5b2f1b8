package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// failures lists the failures of a path, or with "" of all, in no order.
func (c *session) failures(b codebase, path string) (all []store.Failure, err error) {
	query, args := "SELECT "+failureColumns+" FROM failures WHERE codebase = ?", []any{b.key}
	if path != "" {
		query, args = query+" AND path = ?", append(args, blob(path))
	}
	r := newRecord("failures", failureColumns)
	err = c.each(query, args, func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		all = append(all, r.failure(b.ID))
		return r.end()
	})
	if err != nil {
		return nil, fmt.Errorf("list failures of codebase %s: %w", b.ID, err)
	}
	return all, nil
}

// Failures lists the failures of a codebase.
func (s *Store) Failures(ctx context.Context, id store.CodebaseID) (all []store.Failure, err error) {
	err = s.look(ctx, func(r *rows) error {
		all, err = rules.Failures(ctx, r, id)
		return err
	})
	return all, err
}

// RecordFailure adds one try to a failure.
func (s *Store) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.change(ctx, func(r *rows) error {
		recorded, err = rules.RecordFailure(ctx, r, f, park, announce)
		return err
	})
	return recorded, err
}

// ForgetFailures removes failures and returns those that were parked.
func (s *Store) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.change(ctx, func(r *rows) error {
		parked, err = rules.ForgetFailures(ctx, r, id, path)
		return err
	})
	return parked, err
}

// Failures lists the failures of a codebase.
func (r *rows) Failures(_ context.Context, id store.CodebaseID) ([]store.Failure, error) {
	return r.failures(id, "")
}

// failures lists the failures of a path, or with "" of all, in no order.
func (r *rows) failures(id store.CodebaseID, path string) ([]store.Failure, error) {
	b, err := r.codebase(id)
	if err != nil {
		return nil, err
	}
	return r.c.failures(b, path)
}

// Failure returns the record with the identity of f.
func (r *rows) Failure(_ context.Context, f store.Failure) (found store.Failure, err error) {
	before, err := r.failures(f.Codebase, f.Path)
	for _, old := range before {
		if old.Content == f.Content && old.Stage == f.Stage && old.Version == f.Version && old.Path == f.Path {
			found = old
		}
	}
	return found, err
}

var putFailure = put("failures", failureColumns, 5)

// PutFailure writes a record.
func (r *rows) PutFailure(_ context.Context, f store.Failure) error {
	b, err := r.codebase(f.Codebase)
	if err != nil {
		return err
	}
	var w columns
	w.failure(b.key, f)
	err = r.c.exec(putFailure, w.summed("failures")...)
	if err != nil {
		return fmt.Errorf("record failure of %q: %w", f.Path, err)
	}
	return nil
}

// DropFailures drops the failures of a path, or with "" of all.
func (r *rows) DropFailures(_ context.Context, id store.CodebaseID, path string) ([]store.Failure, error) {
	all, err := r.failures(id, path)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if err := r.c.dropFailure(r.known[id], f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *session) dropFailure(b codebase, f store.Failure) error {
	err := c.exec("DELETE FROM failures WHERE codebase = ? AND path = ? AND content = ? AND stage = ? AND version = ?",
		b.key, blob(f.Path), f.Content[:], string(f.Stage), f.Version)
	if err != nil {
		return fmt.Errorf("forget failure of %q: %w", f.Path, err)
	}
	return nil
}

package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

const failureColumns = "path, content, stage, version, tries, reason, parked, at"

func scanFailure(rows pgx.Rows, id store.CodebaseID) (f store.Failure, err error) {
	var path, content, reason []byte
	var stage string
	var tries int64
	var at *int64
	if err := rows.Scan(&path, &content, &stage, &f.Version, &tries, &reason, &f.Parked, &at); err != nil {
		return f, err
	}
	f.Codebase, f.Path, f.Stage, f.Tries, f.Reason, f.At = id, string(path), store.Stage(stage), int(tries), string(reason), timeOf(at)
	f.Content, err = hashOf(content)
	return f, err
}

// failures lists what a query for failureColumns returns.
func (c *tx) failures(ctx context.Context, id store.CodebaseID, query string, args ...any) (all []store.Failure, err error) {
	err = c.each(ctx, query, append([]any{string(id)}, args...), func(rows pgx.Rows) error {
		f, err := scanFailure(rows, id)
		all = append(all, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failures of codebase %s: %w", id, err)
	}
	return all, nil
}

const selectFailures = "SELECT " + failureColumns + " FROM failures WHERE tenant = $1 AND codebase = $2"

// Failures lists the failures of a codebase.
func (s *Store) Failures(ctx context.Context, id store.CodebaseID) (all []store.Failure, err error) {
	err = s.look(ctx, func(r rows) error {
		all, err = rules.Failures(ctx, r, id)
		return err
	})
	return all, err
}

// RecordFailure adds one try to a failure.
func (s *Store) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.change(ctx, func(r rows) error {
		recorded, err = rules.RecordFailure(ctx, r, f, park, announce)
		return err
	})
	if err != nil {
		return store.Failure{}, err
	}
	return recorded, nil
}

// ForgetFailures removes failures and returns those that were parked.
func (s *Store) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.change(ctx, func(r rows) error {
		parked, err = rules.ForgetFailures(ctx, r, id, path)
		return err
	})
	return parked, err
}

// Failures lists the failures of a codebase.
func (r rows) Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error) {
	return r.c.failures(ctx, id, selectFailures)
}

// Failure returns the record with the identity of f.
func (r rows) Failure(ctx context.Context, f store.Failure) (store.Failure, error) {
	all, err := r.c.failures(ctx, f.Codebase, selectFailures+" AND path = $3 AND content = $4 AND stage = $5 AND version = $6",
		blob(f.Path), f.Content[:], string(f.Stage), f.Version)
	return append(all, store.Failure{})[0], err
}

// PutFailure writes a record.
func (r rows) PutFailure(ctx context.Context, f store.Failure) error {
	_, err := r.c.exec(ctx, `INSERT INTO failures (tenant, codebase, `+failureColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, codebase, path, content, stage, version) DO UPDATE SET
			tries = excluded.tries, reason = excluded.reason, parked = excluded.parked, at = excluded.at`,
		string(f.Codebase), blob(f.Path), f.Content[:], string(f.Stage), f.Version, int64(f.Tries), blob(f.Reason), f.Parked, instant(f.At))
	if err != nil {
		return fmt.Errorf("record failure of %q: %w", f.Path, err)
	}
	return nil
}

// DropFailures drops the failures of a path, or with "" of all.
func (r rows) DropFailures(ctx context.Context, id store.CodebaseID, path string) ([]store.Failure, error) {
	all, err := r.c.failures(ctx, id, `DELETE FROM failures WHERE tenant = $1 AND codebase = $2 AND ($3 = ''::bytea OR path = $3)
		RETURNING `+failureColumns, blob(path))
	r.c.written += int64(len(all))
	return all, err
}

package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
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
func (c *session) failures(ctx context.Context, id store.CodebaseID, query string, args ...any) (all []store.Failure, err error) {
	err = c.each(ctx, query, append([]any{string(id)}, args...), func(rows pgx.Rows) error {
		f, err := scanFailure(rows, id)
		all = append(all, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failures of codebase %s: %w", id, err)
	}
	slices.SortFunc(all, compareFailures)
	return all, nil
}

const selectFailures = "SELECT " + failureColumns + " FROM failures WHERE tenant = $1 AND codebase = $2"

// Failures lists the failures of a codebase.
func (s *Store) Failures(ctx context.Context, id store.CodebaseID) (all []store.Failure, err error) {
	err = s.view(ctx, func(c *session) error {
		if _, err := c.codebase(ctx, id); err != nil {
			return err
		}
		all, err = c.failures(ctx, id, selectFailures)
		return err
	})
	return all, err
}

// RecordFailure adds one try to a failure.
func (s *Store) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.write(ctx, func(c *session) error {
		if _, err := c.codebase(ctx, f.Codebase); err != nil {
			return err
		}
		all, err := c.failures(ctx, f.Codebase, `INSERT INTO failures AS old (tenant, codebase, `+failureColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8 OR 1 >= $9, $10)
			ON CONFLICT (tenant, codebase, path, content, stage, version) DO UPDATE SET tries = old.tries + 1,
				reason = excluded.reason, parked = old.parked OR excluded.parked OR old.tries + 1 >= $9, at = excluded.at
			RETURNING `+failureColumns,
			blob(f.Path), f.Content[:], string(f.Stage), f.Version, blob(f.Reason), park, int64(store.MaxTries), instant(f.At))
		if err != nil {
			return fmt.Errorf("record failure of %q: %w", f.Path, err)
		}
		c.written++
		if recorded = all[0]; !recorded.Parked || announce == nil {
			return nil
		}
		e, err := announce(recorded)
		if err != nil {
			return err
		}
		return c.putOutbox(ctx, []store.OutboxEvent{e})
	})
	if err != nil {
		return store.Failure{}, err
	}
	return recorded, nil
}

// ForgetFailures removes failures and returns those that were parked.
func (s *Store) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.write(ctx, func(c *session) error {
		if _, err := c.codebase(ctx, id); err != nil {
			return err
		}
		all, err := c.failures(ctx, id, `DELETE FROM failures WHERE tenant = $1 AND codebase = $2 AND ($3 = ''::bytea OR path = $3)
			RETURNING `+failureColumns, blob(path))
		c.written += int64(len(all))
		parked = slices.DeleteFunc(all, func(f store.Failure) bool { return !f.Parked })
		return err
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

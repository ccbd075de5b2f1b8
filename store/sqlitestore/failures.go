package sqlitestore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// failureKey is the identity of a failure within a codebase.
type failureKey struct {
	path    string
	content merkle.Hash
	stage   store.Stage
	version string
}

func (k failureKey) parts(b codebase) [][]byte {
	return [][]byte{number(b.key), []byte(k.path), k.content[:], []byte(k.stage), []byte(k.version)}
}

func (k failureKey) args(b codebase) []any {
	return []any{b.key, blob(k.path), k.content[:], string(k.stage), k.version}
}

// failures lists the failures of a path, or with "" of all, in no order.
func (c *session) failures(b codebase, path string) (all []store.Failure, err error) {
	query, args := "SELECT path, content, stage, version, body FROM failures WHERE codebase = ?", []any{b.key}
	if path != "" {
		query, args = query+" AND path = ?", append(args, blob(path))
	}
	err = c.each(query, args, func(rows *sql.Rows) error {
		var path, content, body []byte
		var stage, version string
		if err := rows.Scan(&path, &content, &stage, &version, &body); err != nil {
			return err
		}
		k := failureKey{path: string(path), stage: store.Stage(stage), version: version}
		copy(k.content[:], content)
		value, err := unseal(body, "failures", k.parts(b)...)
		if err != nil {
			return err
		}
		r := reader{buf: value}
		all = append(all, r.failure(store.Failure{Codebase: b.ID, Path: k.path, Content: k.content, Stage: k.stage, Version: k.version}))
		return r.end("failure")
	})
	if err != nil {
		return nil, fmt.Errorf("list failures of codebase %s: %w", b.ID, err)
	}
	return all, nil
}

// Failures lists the failures of a codebase.
func (s *Store) Failures(ctx context.Context, id store.CodebaseID) (all []store.Failure, err error) {
	err = s.view(ctx, func(c *session) error {
		b, err := c.codebase(id)
		if err != nil {
			return err
		}
		all, err = c.failures(b, "")
		slices.SortFunc(all, compareFailures)
		return err
	})
	return all, err
}

// RecordFailure adds one try to a failure.
func (s *Store) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.write(ctx, func(c *session) error {
		b, err := c.codebase(f.Codebase)
		if err != nil {
			return err
		}
		before, err := c.failures(b, f.Path)
		if err != nil {
			return err
		}
		f.Tries, f.Parked = 0, false
		for _, old := range before {
			if old.Content == f.Content && old.Stage == f.Stage && old.Version == f.Version && old.Path == f.Path {
				f.Tries, f.Parked = old.Tries, old.Parked
			}
		}
		f.Tries++
		f.Parked = f.Parked || park || f.Tries >= store.MaxTries
		f.At = f.At.Round(0).UTC()
		recorded = f
		k := failureKey{f.Path, f.Content, f.Stage, f.Version}
		var w writer
		w.failure(f)
		err = c.exec(`INSERT INTO failures (codebase, path, content, stage, version, body) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET body = excluded.body`, append(k.args(b), seal(w.buf, "failures", k.parts(b)...))...)
		if err != nil {
			return fmt.Errorf("record failure of %q: %w", f.Path, err)
		}
		if !f.Parked || announce == nil {
			return nil
		}
		e, err := announce(f)
		if err != nil {
			return err
		}
		return c.putOutbox([]store.OutboxEvent{e})
	})
	return recorded, err
}

// ForgetFailures removes failures and returns those that were parked.
func (s *Store) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.write(ctx, func(c *session) error {
		b, err := c.codebase(id)
		if err != nil {
			return err
		}
		all, err := c.failures(b, path)
		if err != nil {
			return err
		}
		for _, f := range all {
			if f.Parked {
				parked = append(parked, f)
			}
			if err := c.dropFailure(b, f); err != nil {
				return err
			}
		}
		slices.SortFunc(parked, compareFailures)
		return nil
	})
	return parked, err
}

func (c *session) dropFailure(b codebase, f store.Failure) error {
	k := failureKey{f.Path, f.Content, f.Stage, f.Version}
	err := c.exec("DELETE FROM failures WHERE codebase = ? AND path = ? AND content = ? AND stage = ? AND version = ?", k.args(b)...)
	if err != nil {
		return fmt.Errorf("forget failure of %q: %w", f.Path, err)
	}
	return nil
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

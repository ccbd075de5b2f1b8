package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
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

// PutFailure writes a record.
func (r *rows) PutFailure(_ context.Context, f store.Failure) error {
	b, err := r.codebase(f.Codebase)
	if err != nil {
		return err
	}
	k := failureKey{f.Path, f.Content, f.Stage, f.Version}
	var w writer
	w.failure(f)
	err = r.c.exec(`INSERT INTO failures (codebase, path, content, stage, version, body) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET body = excluded.body`, append(k.args(b), seal(w.buf, "failures", k.parts(b)...))...)
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
	k := failureKey{f.Path, f.Content, f.Stage, f.Version}
	err := c.exec("DELETE FROM failures WHERE codebase = ? AND path = ? AND content = ? AND stage = ? AND version = ?", k.args(b)...)
	if err != nil {
		return fmt.Errorf("forget failure of %q: %w", f.Path, err)
	}
	return nil
}

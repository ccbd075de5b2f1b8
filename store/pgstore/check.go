package pgstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// maxFindings is how many faults Check names.
const maxFindings = 10

// Check verifies the rows of every snapshot, the hash of every content and the checksum of
// every syntax, vector and segment of the tenant. It names the first faults it finds.
func (s *Store) Check(ctx context.Context) error {
	checking := reading()
	checking.slow = true
	return s.run(ctx, checking, func(c *tx) error {
		var findings []error
		for _, step := range []func(context.Context, *tx) error{
			s.checkSnapshots, s.checkContents, s.checkSyntaxes, s.checkVectors, s.checkSegments,
		} {
			err := step(ctx, c)
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				return err
			}
			if err != nil {
				findings = append(findings, err)
			}
		}
		if len(findings) == 0 {
			return nil
		}
		return fmt.Errorf("check: %w: %w", store.ErrCorrupt, errors.Join(findings[:min(len(findings), maxFindings)]...))
	})
}

func (s *Store) checkSnapshots(ctx context.Context, c *tx) error {
	codebases, err := c.codebases(ctx, "")
	if err != nil {
		return err
	}
	for _, b := range codebases {
		r := rows{s, c, ""}
		all, err := r.Snapshots(ctx, b.ID)
		if err != nil {
			return err
		}
		for _, n := range all {
			if err := r.check(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r rows) check(ctx context.Context, n rules.Snapshot) error {
	if _, err := r.Recipe(ctx, n.Fingerprint); err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	var files, bare int
	_, err := r.c.one(ctx, `SELECT count(*), count(*) FILTER (WHERE hash IS NULL) FROM manifest AS m
		LEFT JOIN contents AS x ON x.tenant = $1 AND x.hash = m.content
		WHERE m.tenant = $1 AND codebase = $2 AND first <= $3 AND last > $3`, []any{string(n.Codebase), int64(n.Number)}, &files, &bare)
	if err := rules.Complete(err, "manifest", n.Snapshot, files, n.Files); err != nil {
		return err
	}
	if bare > 0 {
		return fmt.Errorf("the contents of %d files of snapshot %d are gone: %w", bare, n.Number, store.ErrCorrupt)
	}
	_, err = rules.Refs(ctx, r, n)
	return err
}

func (s *Store) checkContents(ctx context.Context, c *tx) error {
	return s.eachContent(ctx, c, "", nil, func(_ merkle.Hash, err error) error { return err })
}

func (s *Store) checkSyntaxes(ctx context.Context, c *tx) error {
	return c.each(ctx, "SELECT content, name, texts, body FROM syntaxes AS x JOIN names AS n ON n.tenant = $1 AND n.id = x.version WHERE x.tenant = $1",
		nil, func(rows pgx.Rows) error {
			var content, body []byte
			var texts [][]byte
			var k store.SyntaxKey
			if err := rows.Scan(&content, &k.Version, &texts, &body); err != nil {
				return err
			}
			h, err := hashOf(content)
			if err != nil {
				return err
			}
			k.Content = h
			if _, err := s.decodeSyntax(k, texts, body); err != nil {
				return fmt.Errorf("syntax of %s: %w", h, err)
			}
			return nil
		})
}

func (s *Store) checkVectors(ctx context.Context, c *tx) error {
	return c.each(ctx, "SELECT text, body FROM vectors WHERE tenant = $1", nil, func(rows pgx.Rows) error {
		_, _, err := scanVector(rows)
		return err
	})
}

// checkSegments reads what the server has, whatever the cache holds.
func (s *Store) checkSegments(ctx context.Context, c *tx) error {
	var ids []store.SegmentID
	err := c.each(ctx, "SELECT id FROM segments WHERE tenant = $1 ORDER BY id", nil, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, store.SegmentID(id))
		return err
	})
	if err != nil {
		return err
	}
	known, err := c.segments(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		sum, size := sha256.New(), int64(0)
		err := c.each(ctx, "SELECT body FROM segment_parts WHERE tenant = $1 AND segment = $2 ORDER BY part", []any{int64(id)}, func(rows pgx.Rows) error {
			var body []byte
			err := rows.Scan(&body)
			size += int64(len(body))
			_, _ = sum.Write(body) // never fails
			return err
		})
		if err != nil {
			return err
		}
		if [sha256.Size]byte(sum.Sum(nil)) != known[id].sum || size != known[id].ref.Bytes {
			return fmt.Errorf("segment %d: %w: %w", id, store.ErrCorrupt, store.ErrChecksum)
		}
	}
	return nil
}

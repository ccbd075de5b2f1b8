package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// named selects the contents that the manifests of a codebase name.
const named = "SELECT content FROM manifest WHERE tenant = $1 AND codebase = $2 AND content IS NOT NULL"

// forgottenTexts selects the texts that the syntaxes of those contents name.
const forgottenTexts = "SELECT unnest(texts) FROM syntaxes WHERE tenant = $1 AND content IN (" + named + ")"

// Forget drops what can be made again from the files of a codebase. A mark that says of a
// syntax, be it that of another codebase, that it has all its vectors goes with the first
// of them.
func (s *Store) Forget(ctx context.Context, id store.CodebaseID, vectors bool) error {
	return s.writeAlone(ctx, func(c *tx) error {
		if _, err := c.codebase(ctx, id); err != nil {
			return err
		}
		statements := []string{"DELETE FROM embedded WHERE tenant = $1 AND content IN (" + named + ")"}
		if vectors {
			statements = []string{
				"DELETE FROM vectors WHERE tenant = $1 AND text IN (" + forgottenTexts + ")",
				`DELETE FROM embedded WHERE tenant = $1 AND (content IN (` + named + `) OR (content, version) IN (
					SELECT content, version FROM syntaxes AS x WHERE tenant = $1 AND EXISTS (
						SELECT FROM unnest(x.texts) AS t (text) WHERE t.text IN (` + forgottenTexts + `))))`,
			}
		}
		for _, statement := range append(statements,
			"DELETE FROM syntaxes WHERE tenant = $1 AND content IN ("+named+")",
			"DELETE FROM stats WHERE tenant = $1 AND codebase = $2",
		) {
			if _, err := c.exec(ctx, statement, string(id)); err != nil {
				return fmt.Errorf("forget codebase %s: %w", id, err)
			}
		}
		return s.forgetDamaged(ctx, c, id)
	})
}

// forgetDamaged drops the contents that a codebase names and that cannot be read back, so
// that the next scan stores them again.
func (s *Store) forgetDamaged(ctx context.Context, c *tx, id store.CodebaseID) error {
	var damaged []merkle.Hash
	err := s.eachContent(ctx, c, "AND hash IN ("+named+")", []any{string(id)}, func(h merkle.Hash, err error) error {
		if errors.Is(err, store.ErrCorrupt) {
			damaged = append(damaged, h)
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := c.exec(ctx, "DELETE FROM contents WHERE tenant = $1 AND hash = ANY($2)", raw(damaged)); err != nil {
		return fmt.Errorf("drop damaged contents: %w", err)
	}
	return nil
}

// eachContent calls fn for every content that a condition selects, with what is wrong with
// it.
func (s *Store) eachContent(ctx context.Context, c *tx, condition string, args []any, fn func(h merkle.Hash, err error) error) error {
	err := c.each(ctx, "SELECT hash, size, body FROM contents WHERE tenant = $1 "+condition, args, func(rows pgx.Rows) error {
		var hash, body []byte
		var size int64
		if err := rows.Scan(&hash, &size, &body); err != nil {
			return err
		}
		h, err := hashOf(hash)
		if err != nil {
			return err
		}
		data, err := s.unpackContent(h, body)
		if err == nil && int64(len(data)) != size {
			err = fmt.Errorf("%s has %d bytes, want %d: %w", h, len(data), size, store.ErrCorrupt)
		}
		return fn(h, err)
	})
	if err != nil {
		return fmt.Errorf("read contents: %w", err)
	}
	return nil
}

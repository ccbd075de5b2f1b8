package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// named selects the contents that the manifests of a codebase name.
const named = "SELECT content FROM manifest WHERE codebase = ? AND content IS NOT NULL"

// Forget drops what can be made again from the files of a codebase.
func (s *Store) Forget(ctx context.Context, id store.CodebaseID, vectors bool) error {
	return s.write(ctx, func(c *session) error {
		b, err := c.codebase(id)
		if err != nil {
			return err
		}
		if vectors {
			if err := c.forgetVectors(b); err != nil {
				return fmt.Errorf("forget vectors of codebase %s: %w", id, err)
			}
		}
		for _, statement := range []string{
			"DELETE FROM embedded WHERE syntax IN (SELECT id FROM syntaxes WHERE content IN (" + named + "))",
			"DELETE FROM syntaxes WHERE content IN (" + named + ")",
			"DELETE FROM stats WHERE codebase = ?",
		} {
			if err := c.exec(statement, b.key); err != nil {
				return fmt.Errorf("forget codebase %s: %w", id, err)
			}
		}
		return s.forgetDamaged(ctx, c, b)
	})
}

// forgetVectors drops the vectors of the texts that the syntaxes name, whatever embedding
// they are of, and every mark that says of a syntax with such a text that it has them all:
// that of another codebase, too.
func (c *session) forgetVectors(b codebase) error {
	texts := map[merkle.Hash]bool{}
	err := c.eachTexts("SELECT id, texts FROM syntaxes WHERE content IN ("+named+")", []any{b.key}, func(_ int64, h merkle.Hash) {
		texts[h] = true
	})
	if err != nil {
		return err
	}
	touched := map[int64]bool{}
	err = c.eachTexts("SELECT id, texts FROM syntaxes", nil, func(id int64, h merkle.Hash) {
		if texts[h] {
			touched[id] = true
		}
	})
	if err != nil {
		return err
	}
	embeddings, err := c.ids("SELECT DISTINCT embedding FROM vectors UNION SELECT DISTINCT embedding FROM embedded")
	if err != nil {
		return err
	}
	for _, embedding := range embeddings {
		for h := range texts {
			if err := c.exec("DELETE FROM vectors WHERE embedding = ? AND text = ?", embedding, h[:]); err != nil {
				return err
			}
		}
		for id := range touched {
			if err := c.exec("DELETE FROM embedded WHERE embedding = ? AND syntax = ?", embedding, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachTexts calls fn for every text hash of the syntaxes of a query for id and texts.
func (c *session) eachTexts(query string, args []any, fn func(id int64, h merkle.Hash)) error {
	return c.each(query, args, func(rows *sql.Rows) error {
		var id int64
		var hashes sql.RawBytes
		if err := rows.Scan(&id, &hashes); err != nil {
			return err
		}
		for ; len(hashes) >= len(merkle.Hash{}); hashes = hashes[len(merkle.Hash{}):] {
			fn(id, merkle.Hash(hashes[:len(merkle.Hash{})]))
		}
		return nil
	})
}

func (c *session) ids(query string) (ids []int64, err error) {
	err = c.each(query, nil, func(rows *sql.Rows) error {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// forgetDamaged drops the contents that a codebase names and that cannot be read back, so
// that the next scan stores them again.
func (s *Store) forgetDamaged(ctx context.Context, c *session, b codebase) error {
	var hashes []merkle.Hash
	err := c.each("SELECT hash FROM contents WHERE hash IN ("+named+")", []any{b.key}, func(rows *sql.Rows) error {
		var hash sql.RawBytes
		if err := rows.Scan(&hash); err != nil {
			return err
		}
		if len(hash) == len(merkle.Hash{}) {
			hashes = append(hashes, merkle.Hash(hash))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	for _, h := range hashes {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := s.content(c, h)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNotFound):
			return err
		}
		if err := c.exec("DELETE FROM contents WHERE hash = ?", h[:]); err != nil {
			return fmt.Errorf("drop content %s: %w", h.Short(), err)
		}
	}
	return s.sweepFrames(c)
}

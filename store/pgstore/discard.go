package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Discard drops those of the rows named that cannot be read back.
func (s *Store) Discard(ctx context.Context, d store.Damage) error {
	return s.write(ctx, func(c *tx) error {
		if err := s.discardContents(ctx, c, d.Contents); err != nil {
			return err
		}
		for _, k := range d.Syntaxes {
			if err := s.discardSyntax(ctx, c, k); err != nil {
				return fmt.Errorf("discard syntax of %s: %w", k.Content.Short(), err)
			}
		}
		return s.discardVectors(ctx, c, d.Embedding, d.Vectors)
	})
}

func (s *Store) discardContents(ctx context.Context, c *tx, hashes []merkle.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	var gone []merkle.Hash
	err := s.eachContent(ctx, c, "AND hash = ANY($2)", []any{raw(hashes)}, func(h merkle.Hash, err error) error {
		if errors.Is(err, store.ErrCorrupt) {
			gone = append(gone, h)
			return nil
		}
		return err
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	if _, err := c.exec(ctx, "DELETE FROM contents WHERE tenant = $1 AND hash = ANY($2)", raw(gone)); err != nil {
		return fmt.Errorf("discard contents: %w", err)
	}
	return nil
}

func (s *Store) discardSyntax(ctx context.Context, c *tx, k store.SyntaxKey) error {
	version, err := s.name(ctx, c, k.Version)
	if err != nil || version == 0 {
		return err
	}
	var texts [][]byte
	var body []byte
	found, err := c.one(ctx, "SELECT texts, body FROM syntaxes WHERE tenant = $1 AND content = $2 AND version = $3", []any{k.Content[:], version}, &texts, &body)
	if err != nil || !found {
		return err
	}
	if _, err := s.decodeSyntax(k, texts, body); err == nil {
		return nil
	}
	for _, table := range []string{"embedded", "syntaxes"} {
		if _, err := c.exec(ctx, "DELETE FROM "+table+" WHERE tenant = $1 AND content = $2 AND version = $3", k.Content[:], version); err != nil {
			return err
		}
	}
	return nil
}

// discardVectors drops damaged vectors, and the marks of all syntaxes that name one.
func (s *Store) discardVectors(ctx context.Context, c *tx, embedding string, texts []merkle.Hash) error {
	if len(texts) == 0 {
		return nil
	}
	id, err := s.name(ctx, c, embedding)
	if err != nil || id == 0 {
		return err
	}
	var gone []merkle.Hash
	err = c.each(ctx, "SELECT text, body FROM vectors WHERE tenant = $1 AND embedding = $2 AND text = ANY($3)", []any{id, raw(texts)}, func(rows pgx.Rows) error {
		h, _, err := scanVector(rows)
		if errors.Is(err, errVector) {
			gone = append(gone, h)
			return nil
		}
		return err
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM vectors WHERE tenant = $1 AND embedding = $2 AND text = ANY($3)",
		`DELETE FROM embedded WHERE tenant = $1 AND embedding = $2 AND (content, version) IN (
			SELECT content, version FROM syntaxes WHERE tenant = $1 AND texts && $3::bytea[])`,
	} {
		if _, err := c.exec(ctx, statement, id, raw(gone)); err != nil {
			return fmt.Errorf("discard vectors: %w", err)
		}
	}
	return nil
}

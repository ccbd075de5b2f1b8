package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Discard drops those of the rows named that cannot be read back.
func (s *Store) Discard(ctx context.Context, d store.Damage) error {
	return s.write(ctx, func(c *session) error {
		for _, h := range d.Contents {
			if _, err := s.content(c, h); errors.Is(err, store.ErrCorrupt) {
				err = c.exec("DELETE FROM contents WHERE hash = ?", h[:])
				if err != nil {
					return fmt.Errorf("discard content %s: %w", h.Short(), err)
				}
			}
		}
		names := c.versions()
		for _, k := range d.Syntaxes {
			if err := s.discardSyntax(c, names, k); err != nil {
				return fmt.Errorf("discard syntax of %s: %w", k.Content.Short(), err)
			}
		}
		return c.discardVectors(d.Embedding, d.Vectors)
	})
}

func (s *Store) discardSyntax(c *session, names *versions, k store.SyntaxKey) error {
	version, err := names.id(k.Version)
	if err != nil {
		return err
	}
	var id int64
	var texts, body []byte
	found, err := c.one("SELECT id, texts, body FROM syntaxes WHERE content = ? AND version = ?", []any{k.Content[:], version}, &id, &texts, &body)
	if err != nil || !found {
		return err
	}
	if _, err := s.decodeSyntax(c, k.Content, version, texts, body); !errors.Is(err, store.ErrCorrupt) || errors.Is(err, errSource) {
		return nil //nolint:nilerr // it is whole, or its content is at fault
	}
	if err := c.exec("DELETE FROM embedded WHERE syntax = ?", id); err != nil {
		return err
	}
	return c.exec("DELETE FROM syntaxes WHERE id = ?", id)
}

// discardVectors drops damaged vectors, and the marks of all syntaxes that name one.
func (c *session) discardVectors(embedding string, texts []merkle.Hash) error {
	if len(texts) == 0 {
		return nil
	}
	id, err := c.name(embedding)
	if err != nil || id == 0 {
		return err
	}
	gone := map[merkle.Hash]bool{}
	for _, h := range texts {
		var body []byte
		found, err := c.one("SELECT body FROM vectors WHERE embedding = ? AND text = ?", []any{id, h[:]}, &body)
		if err != nil {
			return fmt.Errorf("discard vector of %s: %w", h.Short(), err)
		}
		if !found {
			continue
		}
		if _, err := decodeVector(id, h, body); err == nil {
			continue
		}
		if err := c.exec("DELETE FROM vectors WHERE embedding = ? AND text = ?", id, h[:]); err != nil {
			return fmt.Errorf("discard vector of %s: %w", h.Short(), err)
		}
		gone[h] = true
	}
	touched := map[int64]bool{}
	err = c.eachTexts("SELECT id, texts FROM syntaxes", nil, func(row int64, h merkle.Hash) {
		if gone[h] {
			touched[row] = true
		}
	})
	if err != nil {
		return fmt.Errorf("list texts: %w", err)
	}
	for row := range touched {
		if err := c.exec("DELETE FROM embedded WHERE embedding = ? AND syntax = ?", id, row); err != nil {
			return fmt.Errorf("discard a mark: %w", err)
		}
	}
	return nil
}

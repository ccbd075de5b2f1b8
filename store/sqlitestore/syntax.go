package sqlitestore

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// name returns the id of an interned name; 0 is that of a name never put.
func (c *session) name(name string) (int64, error) {
	var id int64
	if _, err := c.one("SELECT id FROM names WHERE name = ?", []any{name}, &id); err != nil {
		return 0, fmt.Errorf("look up name %q: %w", name, err)
	}
	return id, nil
}

func (c *session) putName(name string) (int64, error) {
	if err := c.exec("INSERT INTO names (name) VALUES (?) ON CONFLICT DO NOTHING", name); err != nil {
		return 0, fmt.Errorf("put name %q: %w", name, err)
	}
	return c.name(name)
}

// versions looks names up once each.
type versions struct {
	c   *session
	ids map[string]int64
}

func (v *versions) id(name string) (int64, error) {
	if id, ok := v.ids[name]; ok {
		return id, nil
	}
	id, err := v.c.name(name)
	if err == nil {
		v.ids[name] = id
	}
	return id, err
}

func (c *session) versions() *versions { return &versions{c, map[string]int64{}} }

// Syntax returns the syntaxes that exist of the keys asked for.
func (s *Store) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	found := make(map[store.SyntaxKey]store.Syntax, len(keys))
	err := s.view(ctx, func(c *session) error {
		names := c.versions()
		for _, k := range keys {
			if err := ctx.Err(); err != nil {
				return err
			}
			version, err := names.id(k.Version)
			if err != nil {
				return err
			}
			var texts, body []byte
			ok, err := c.one("SELECT texts, body FROM syntaxes WHERE content = ? AND version = ?", []any{k.Content[:], version}, &texts, &body)
			if err != nil {
				return fmt.Errorf("syntax of %s: %w", k.Content.Short(), err)
			}
			if !ok {
				continue
			}
			if found[k], err = s.decodeSyntax(k.Content, version, texts, body); err != nil {
				return fmt.Errorf("syntax of %s: %w", k.Content, err)
			}
		}
		return nil
	})
	return found, err
}

// encodeSyntax takes the text hashes, which do not compress, out of the blob.
func (s *Store) encodeSyntax(scratch []byte, x store.Syntax) (texts, packed, grown []byte) {
	chunks := make([]store.Chunk, len(x.Chunks))
	texts = make([]byte, 0, len(chunks)*len(merkle.Hash{}))
	for i, chunk := range x.Chunks {
		texts = append(texts, chunk.TextHash[:]...)
		chunk.TextHash = merkle.Hash{}
		chunks[i] = chunk
	}
	x.Chunks = chunks
	grown = store.AppendSyntax(scratch[:0], x)
	return texts, s.codec.pack(grown), grown
}

func (s *Store) decodeSyntax(content merkle.Hash, version int64, texts, body []byte) (store.Syntax, error) {
	packed, err := unseal(body, "syntaxes", content[:], number(version), texts)
	if err != nil {
		return store.Syntax{}, err
	}
	data, err := s.codec.unpack(packed)
	if err != nil {
		return store.Syntax{}, err
	}
	x, err := store.DecodeSyntax(data)
	if err != nil || len(x.Chunks)*len(merkle.Hash{}) != len(texts) {
		return store.Syntax{}, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	for i := range x.Chunks {
		copy(x.Chunks[i].TextHash[:], texts[i*len(merkle.Hash{}):])
	}
	return x, nil
}

// HasSyntax returns the keys that exist.
func (s *Store) HasSyntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]bool, error) {
	has := make(map[store.SyntaxKey]bool, len(keys))
	err := s.view(ctx, func(c *session) error {
		names := c.versions()
		for _, k := range keys {
			id, err := c.syntaxID(names, k)
			if err != nil {
				return err
			}
			if id != 0 {
				has[k] = true
			}
		}
		return nil
	})
	return has, err
}

// syntaxID returns the row of a syntax, 0 when there is none.
func (c *session) syntaxID(names *versions, k store.SyntaxKey) (int64, error) {
	version, err := names.id(k.Version)
	if err != nil {
		return 0, err
	}
	var id int64
	if _, err := c.one("SELECT id FROM syntaxes WHERE content = ? AND version = ?", []any{k.Content[:], version}, &id); err != nil {
		return 0, fmt.Errorf("look up syntax of %s: %w", k.Content.Short(), err)
	}
	return id, nil
}

// PutSyntax stores syntaxes; a key that exists keeps what it has.
func (s *Store) PutSyntax(ctx context.Context, records []store.SyntaxRecord) error {
	return s.write(ctx, func(c *session) error {
		ids := map[string]int64{}
		var scratch []byte
		for _, r := range records {
			version, ok := ids[r.Key.Version]
			var err error
			if !ok {
				if version, err = c.putName(r.Key.Version); err != nil {
					return err
				}
				ids[r.Key.Version] = version
			}
			var texts, packed []byte
			texts, packed, scratch = s.encodeSyntax(scratch, r.Syntax)
			content := r.Key.Content[:]
			err = c.exec("INSERT INTO syntaxes (content, version, texts, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
				content, version, texts, seal(packed, "syntaxes", content, number(version), texts))
			if err != nil {
				return fmt.Errorf("put syntax of %s: %w", r.Key.Content.Short(), err)
			}
		}
		return nil
	})
}

package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
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
	var damage store.DamagedError
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
			x, err := s.decodeSyntax(c, k.Content, version, texts, body)
			switch {
			case errors.Is(err, store.ErrNotFound): // its content is collected, so nobody asks in earnest
			case errors.Is(err, errSource):
				damage.Contents = append(damage.Contents, k.Content)
				damage.Err = cmp.Or(damage.Err, err)
			case errors.Is(err, store.ErrCorrupt):
				damage.Syntaxes = append(damage.Syntaxes, k)
				damage.Err = cmp.Or(damage.Err, fmt.Errorf("syntax of %s: %w", k.Content, err))
			case err != nil:
				return fmt.Errorf("syntax of %s: %w", k.Content, err)
			default:
				found[k] = x
			}
		}
		return nil
	})
	if err == nil && damage.Err != nil {
		err = &damage
	}
	return found, err
}

// errSource is wrapped by the errors of syntaxes whose content is damaged.
var errSource = errors.New("the content of the syntax cannot be read")

// The first byte of the body of a syntax says what its delta is of.
const (
	syntaxAlone     = 0
	syntaxOfContent = 1
)

// encodedSyntax is a syntax ready to be written.
type encodedSyntax struct {
	key           store.SyntaxKey
	texts, packed []byte
}

// encodeSyntax takes the text hashes, which do not compress, out of the blob, and writes
// the rest as a delta of the content when the store has it.
func (s *Store) encodeSyntax(c *session, r store.SyntaxRecord) (encodedSyntax, error) {
	x := r.Syntax
	chunks := make([]store.Chunk, len(x.Chunks))
	texts := make([]byte, 0, len(chunks)*len(merkle.Hash{}))
	for i, chunk := range x.Chunks {
		texts = append(texts, chunk.TextHash[:]...)
		chunk.TextHash = merkle.Hash{}
		chunks[i] = chunk
	}
	x.Chunks = chunks
	source, err := s.content(c, r.Key.Content)
	kind := byte(syntaxOfContent)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
		source, kind = nil, syntaxAlone
	case err != nil:
		return encodedSyntax{}, err
	}
	delta := s.deltas.append(nil, source, store.AppendSyntax(nil, x))
	return encodedSyntax{r.Key, texts, append([]byte{kind}, s.codec.pack(delta)...)}, nil
}

// decodeSyntax returns store.ErrNotFound when the content is gone that a syntax is a delta
// of.
func (s *Store) decodeSyntax(c *session, content merkle.Hash, version int64, texts, body []byte) (store.Syntax, error) {
	packed, err := checksum.Cut(body, "syntaxes", content[:], number(version), texts)
	if err != nil {
		return store.Syntax{}, err
	}
	if len(packed) == 0 || packed[0] > syntaxOfContent {
		return store.Syntax{}, fmt.Errorf("encoded in an unknown way: %w", store.ErrCorrupt)
	}
	var source []byte
	if packed[0] == syntaxOfContent {
		if source, err = s.content(c, content); errors.Is(err, store.ErrCorrupt) {
			return store.Syntax{}, fmt.Errorf("%w: %w", errSource, err)
		} else if err != nil {
			return store.Syntax{}, err
		}
	}
	delta, err := s.codec.unpack(packed[1:])
	if err != nil {
		return store.Syntax{}, err
	}
	data, err := applyDelta(source, delta)
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

// DropSyntax drops syntaxes with their marks.
func (s *Store) DropSyntax(ctx context.Context, keys []store.SyntaxKey) error {
	return s.write(ctx, func(c *session) error {
		names := c.versions()
		for _, k := range keys {
			row, err := c.syntaxID(names, k)
			if err != nil {
				return err
			}
			for _, statement := range []string{"DELETE FROM embedded WHERE syntax = ?", "DELETE FROM syntaxes WHERE id = ?"} {
				if err := c.exec(statement, row); err != nil {
					return fmt.Errorf("drop syntax of %s: %w", k.Content.Short(), err)
				}
			}
		}
		return nil
	})
}

// PutSyntax stores syntaxes; a key that exists keeps what it has.
func (s *Store) PutSyntax(ctx context.Context, records []store.SyntaxRecord) error {
	encoded := make([]encodedSyntax, 0, len(records))
	err := s.view(ctx, func(c *session) error {
		for _, r := range records {
			if err := ctx.Err(); err != nil {
				return err
			}
			x, err := s.encodeSyntax(c, r)
			if err != nil {
				return fmt.Errorf("encode syntax of %s: %w", r.Key.Content.Short(), err)
			}
			encoded = append(encoded, x)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.write(ctx, func(c *session) error {
		ids := map[string]int64{}
		for _, x := range encoded {
			version, ok := ids[x.key.Version]
			var err error
			if !ok {
				if version, err = c.putName(x.key.Version); err != nil {
					return err
				}
				ids[x.key.Version] = version
			}
			content := x.key.Content[:]
			err = c.exec("INSERT INTO syntaxes (content, version, texts, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
				content, version, x.texts, checksum.Append(x.packed, "syntaxes", content, number(version), x.texts))
			if err != nil {
				return fmt.Errorf("put syntax of %s: %w", x.key.Content.Short(), err)
			}
		}
		return nil
	})
}

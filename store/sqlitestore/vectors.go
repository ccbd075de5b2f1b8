package sqlitestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
	"github.com/freshet/freshet/sync/merkle"
)

// Vectors returns the vectors that exist.
func (s *Store) Vectors(ctx context.Context, embedding string, texts []merkle.Hash) (map[merkle.Hash]store.Vector, error) {
	found := make(map[merkle.Hash]store.Vector, len(texts))
	damage := store.DamagedError{Damage: store.Damage{Embedding: embedding}}
	err := s.view(ctx, func(c *session) error {
		id, err := c.name(embedding)
		if err != nil || id == 0 {
			return err
		}
		for i, h := range texts {
			if i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			var body []byte
			ok, err := c.one("SELECT body FROM vectors WHERE embedding = ? AND text = ?", []any{id, h[:]}, &body)
			if err != nil {
				return fmt.Errorf("vector of %s: %w", h.Short(), err)
			}
			if !ok {
				continue
			}
			v, err := decodeVector(id, h, body)
			if err != nil {
				damage.Vectors = append(damage.Vectors, h)
				damage.Err = cmp.Or(damage.Err, fmt.Errorf("vector of %s: %w", h, err))
				continue
			}
			found[h] = v
		}
		return nil
	})
	if err == nil && damage.Err != nil {
		err = &damage
	}
	return found, err
}

func encodeVector(embedding int64, h merkle.Hash, v store.Vector) []byte {
	value := make([]byte, 4, 4+len(v.Data)+checksum.Size)
	binary.BigEndian.PutUint32(value, math.Float32bits(v.Scale))
	for _, x := range v.Data {
		value = append(value, byte(x))
	}
	return checksum.Append(value, "vectors", number(embedding), h[:])
}

func decodeVector(embedding int64, h merkle.Hash, body []byte) (store.Vector, error) {
	value, err := checksum.Cut(body, "vectors", number(embedding), h[:])
	if err != nil {
		return store.Vector{}, err
	}
	if len(value) < 4 {
		return store.Vector{}, fmt.Errorf("too short: %w", store.ErrCorrupt)
	}
	v := store.Vector{Scale: math.Float32frombits(binary.BigEndian.Uint32(value)), Data: make([]int8, len(value)-4)}
	for i, x := range value[4:] {
		v.Data[i] = int8(x)
	}
	return v, nil
}

// HasEmbedded returns the keys that PutVectors marked.
func (s *Store) HasEmbedded(ctx context.Context, embedding string, keys []store.SyntaxKey) (map[store.SyntaxKey]bool, error) {
	has := make(map[store.SyntaxKey]bool, len(keys))
	err := s.view(ctx, func(c *session) error {
		id, err := c.name(embedding)
		if err != nil {
			return err
		}
		names := c.versions()
		for _, k := range keys {
			row, err := c.syntaxID(names, k)
			if err != nil {
				return err
			}
			marked, err := c.embedded(id, row)
			if err != nil {
				return err
			}
			if marked {
				has[k] = true
			}
		}
		return nil
	})
	return has, err
}

// embedded reports whether a syntax is marked. A mark that is damaged is none: it is made
// again.
func (c *session) embedded(embedding, syntax int64) (bool, error) {
	if embedding == 0 || syntax == 0 {
		return false, nil
	}
	var body []byte
	found, err := c.one("SELECT body FROM embedded WHERE embedding = ? AND syntax = ?", []any{embedding, syntax}, &body)
	if err != nil || !found {
		return false, err
	}
	_, err = checksum.Cut(body, "embedded", number(embedding), number(syntax))
	return err == nil, nil //nolint:nilerr // see above
}

// PutVectors stores vectors and marks the keys of done that have all of theirs.
func (s *Store) PutVectors(ctx context.Context, embedding string, vectors []store.VectorRecord, done []store.SyntaxKey) error {
	return s.write(ctx, func(c *session) error {
		id, err := c.putName(embedding)
		if err != nil {
			return err
		}
		stored := make(map[merkle.Hash]bool, len(vectors))
		for _, r := range vectors {
			err := c.exec("INSERT INTO vectors (embedding, text, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
				id, r.TextHash[:], encodeVector(id, r.TextHash, r.Vector))
			if err != nil {
				return fmt.Errorf("put vector of %s: %w", r.TextHash.Short(), err)
			}
			stored[r.TextHash] = true
		}
		names := c.versions()
		for _, k := range done {
			if err := c.mark(names, id, k, stored); err != nil {
				return fmt.Errorf("mark %s as embedded: %w", k.Content.Short(), err)
			}
		}
		return nil
	})
}

// mark records that a syntax has all its vectors, if it has. stored holds texts known to
// have one, and gains those that were looked up.
func (c *session) mark(names *versions, embedding int64, k store.SyntaxKey, stored map[merkle.Hash]bool) error {
	version, err := names.id(k.Version)
	if err != nil {
		return err
	}
	var row int64
	var texts []byte
	found, err := c.one("SELECT id, texts FROM syntaxes WHERE content = ? AND version = ?", []any{k.Content[:], version}, &row, &texts)
	if err != nil || !found {
		return err
	}
	for ; len(texts) >= len(merkle.Hash{}); texts = texts[len(merkle.Hash{}):] {
		h := merkle.Hash(texts[:len(merkle.Hash{})])
		if stored[h] {
			continue
		}
		var one int
		found, err := c.one("SELECT 1 FROM vectors WHERE embedding = ? AND text = ?", []any{embedding, h[:]}, &one)
		if err != nil || !found {
			return err
		}
		stored[h] = true
	}
	return c.exec("INSERT INTO embedded (embedding, syntax, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
		embedding, row, checksum.Append(nil, "embedded", number(embedding), number(row)))
}

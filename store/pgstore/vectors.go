package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
	"github.com/freshet/freshet/sync/merkle"
)

// Vectors returns the vectors that exist.
func (s *Store) Vectors(ctx context.Context, embedding string, texts []merkle.Hash) (found map[merkle.Hash]store.Vector, err error) {
	var damage store.DamagedError
	err = s.view(ctx, func(c *tx) error {
		found = make(map[merkle.Hash]store.Vector, len(texts))
		damage = store.DamagedError{Damage: store.Damage{Embedding: embedding}}
		id, err := s.name(ctx, c, embedding)
		if err != nil || id == 0 {
			return err
		}
		for part := range slices.Chunk(texts, chunkSize) {
			// Key by key, see theKeys: with = ANY every row of the embedding is read.
			err := c.each(ctx, `SELECT v.text, v.body FROM unnest($3::bytea[]) AS k (text), LATERAL (
				SELECT text, body FROM vectors WHERE tenant = $1 AND embedding = $2 AND text = k.text LIMIT 1) AS v`, []any{id, raw(part)},
				func(rows pgx.Rows) error {
					h, v, err := scanVector(rows)
					switch {
					case errors.Is(err, errVector):
						damage.Vectors = append(damage.Vectors, h)
						damage.Err = cmp.Or(damage.Err, err)
						return nil
					case err == nil:
						found[h] = v
					}
					return err
				})
			if err != nil {
				return fmt.Errorf("read vectors: %w", err)
			}
		}
		return nil
	})
	if err == nil && damage.Err != nil {
		err = &damage
	}
	return found, err
}

// errVector is wrapped by the errors of vectors that cannot be decoded.
var errVector = errors.New("damaged vector")

func scanVector(rows pgx.Rows) (h merkle.Hash, v store.Vector, err error) {
	var text, body []byte
	if err := rows.Scan(&text, &body); err != nil {
		return h, v, err
	}
	if h, err = hashOf(text); err != nil {
		return h, v, err
	}
	if v, err = decodeVector(h, body); err != nil {
		return h, v, fmt.Errorf("%w of %s: %w", errVector, h, err)
	}
	return h, v, nil
}

func encodeVector(h merkle.Hash, v store.Vector) []byte {
	value := make([]byte, 4, 4+len(v.Data)+checksum.Size)
	binary.BigEndian.PutUint32(value, math.Float32bits(v.Scale))
	for _, x := range v.Data {
		value = append(value, byte(x))
	}
	return checksum.Append(value, "vectors", h[:])
}

func decodeVector(h merkle.Hash, body []byte) (store.Vector, error) {
	value, err := checksum.Cut(body, "vectors", h[:])
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
func (s *Store) HasEmbedded(ctx context.Context, embedding string, keys []store.SyntaxKey) (has map[store.SyntaxKey]bool, err error) {
	err = s.view(ctx, func(c *tx) error {
		has, err = s.hasEmbedded(ctx, c, embedding, keys)
		return err
	})
	return has, err
}

func (s *Store) hasEmbedded(ctx context.Context, c *tx, embedding string, keys []store.SyntaxKey) (map[store.SyntaxKey]bool, error) {
	has := make(map[store.SyntaxKey]bool, len(keys))
	id, err := s.name(ctx, c, embedding)
	if err != nil || id == 0 {
		return has, err
	}
	return has, s.eachKey(ctx, c, keys, "SELECT r.content, r.version"+theKeys("embedded", " AND r.embedding = $4"), []any{id}, nil,
		func(k store.SyntaxKey) error {
			has[k] = true
			return nil
		})
}

// PutVectors stores vectors and marks the keys of done that have all of theirs.
func (s *Store) PutVectors(ctx context.Context, embedding string, vectors []store.VectorRecord, done []store.SyntaxKey) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	id, err := s.putName(ctx, embedding)
	if err != nil {
		return err
	}
	// Of two with one key the first one counts, and rows are written in one order.
	sorted := slices.Clone(vectors)
	slices.SortStableFunc(sorted, func(a, b store.VectorRecord) int { return bytes.Compare(a.TextHash[:], b.TextHash[:]) })
	sorted = slices.CompactFunc(sorted, func(a, b store.VectorRecord) bool { return a.TextHash == b.TextHash })
	return s.write(ctx, func(c *tx) error {
		if err := c.putVectors(ctx, id, sorted); err != nil {
			return err
		}
		return s.mark(ctx, c, id, done)
	})
}

func (c *tx) putVectors(ctx context.Context, embedding int64, sorted []store.VectorRecord) error {
	if len(sorted) == 0 {
		return nil
	}
	err := c.stage(ctx, stageVectors, len(sorted), func(i int) ([]any, error) {
		return []any{sorted[i].TextHash[:], encodeVector(sorted[i].TextHash, sorted[i].Vector)}, nil
	})
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, `INSERT INTO vectors (tenant, embedding, text, body)
		SELECT $1, $2, text, body FROM stage_vectors ORDER BY text ON CONFLICT DO NOTHING`, embedding)
	if err != nil {
		return fmt.Errorf("put vectors: %w", err)
	}
	return nil
}

// mark records of those keys that they have all their vectors that have them. Each text is
// looked up by the whole of the primary key: as a join, a server that has not yet counted a
// new table reads all vectors of the embedding for every text.
func (s *Store) mark(ctx context.Context, c *tx, embedding int64, done []store.SyntaxKey) error {
	for part := range slices.Chunk(done, chunkSize) {
		k, err := s.syntaxKeys(ctx, c, part)
		if err != nil {
			return err
		}
		_, err = c.exec(ctx, `INSERT INTO embedded (tenant, embedding, content, version)
			SELECT $1, $4, r.content, r.version`+theKeys("syntaxes", "")+`
			AND cardinality(r.texts) = (SELECT count(*) FROM unnest(r.texts) AS t (text), LATERAL (
				SELECT FROM vectors AS v WHERE v.tenant = $1 AND v.embedding = $4 AND v.text = t.text LIMIT 1) AS v)
			ORDER BY r.content, r.version ON CONFLICT DO NOTHING`, k.contents, k.versions, embedding)
		if err != nil {
			return fmt.Errorf("mark syntaxes as embedded: %w", err)
		}
	}
	return nil
}

package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
	"github.com/freshet/freshet/sync/merkle"
)

// syntaxKeys are keys as arguments: contents and, beside them, the ids of their versions.
// A key whose version was never put is left out, because no row has it.
type syntaxKeys struct {
	contents [][]byte
	versions []int64
	names    map[int64]string
}

func (s *Store) syntaxKeys(ctx context.Context, c *tx, keys []store.SyntaxKey) (syntaxKeys, error) {
	k := syntaxKeys{names: map[int64]string{}}
	ids := map[string]int64{}
	for i := range keys {
		id, ok := ids[keys[i].Version]
		if !ok {
			var err error
			if id, err = s.name(ctx, c, keys[i].Version); err != nil {
				return k, err
			}
			ids[keys[i].Version] = id
		}
		if id != 0 {
			k.contents, k.versions = append(k.contents, keys[i].Content[:]), append(k.versions, id)
			k.names[id] = keys[i].Version
		}
	}
	return k, nil
}

// eachKey calls fn with the key of every row of a query for content, version and what dest
// takes. The query has the keys as $2 and $3.
func (s *Store) eachKey(ctx context.Context, c *tx, keys []store.SyntaxKey, query string, extra []any, dest []any, fn func(k store.SyntaxKey) error) error {
	for part := range slices.Chunk(keys, chunkSize) {
		k, err := s.syntaxKeys(ctx, c, part)
		if err != nil {
			return err
		}
		if len(k.contents) == 0 {
			continue
		}
		err = c.each(ctx, query, append([]any{k.contents, k.versions}, extra...), func(rows pgx.Rows) error {
			var content []byte
			var version int64
			if err := rows.Scan(append([]any{&content, &version}, dest...)...); err != nil {
				return err
			}
			h, err := hashOf(content)
			if err != nil {
				return err
			}
			return fn(store.SyntaxKey{Content: h, Version: k.names[version]})
		})
		if err != nil {
			return fmt.Errorf("look up syntaxes: %w", err)
		}
	}
	return nil
}

// theKeys are the rows of a table that have one of the keys asked for, and what else is
// required. Each is looked up by the whole of the primary key: as a join, a server that has
// not yet counted a new table reads all rows of the tenant.
func theKeys(table, also string) string {
	return ` FROM (SELECT DISTINCT * FROM unnest($2::bytea[], $3::bigint[]) AS k (content, version)) AS k, LATERAL (
		SELECT r.* FROM ` + table + ` AS r WHERE r.tenant = $1 AND r.content = k.content AND r.version = k.version` + also + ` LIMIT 1) AS r WHERE true`
}

// Syntax returns the syntaxes that exist of the keys asked for.
func (s *Store) Syntax(ctx context.Context, keys []store.SyntaxKey) (found map[store.SyntaxKey]store.Syntax, err error) {
	var damage store.DamagedError
	err = s.view(ctx, func(c *tx) error {
		found, damage = make(map[store.SyntaxKey]store.Syntax, len(keys)), store.DamagedError{}
		var texts [][]byte
		var body []byte
		return s.eachKey(ctx, c, keys, "SELECT r.content, r.version, r.texts, r.body"+theKeys("syntaxes", ""), nil, []any{&texts, &body},
			func(k store.SyntaxKey) error {
				x, err := s.decodeSyntax(k, texts, body)
				if err != nil {
					damage.Syntaxes = append(damage.Syntaxes, k)
					damage.Err = cmp.Or(damage.Err, fmt.Errorf("syntax of %s: %w", k.Content, err))
					return ctx.Err()
				}
				found[k] = x
				return ctx.Err()
			})
	})
	if err == nil && damage.Err != nil {
		err = &damage
	}
	return found, err
}

// HasSyntax returns the keys that exist.
func (s *Store) HasSyntax(ctx context.Context, keys []store.SyntaxKey) (has map[store.SyntaxKey]bool, err error) {
	err = s.view(ctx, func(c *tx) error {
		has, err = s.hasSyntax(ctx, c, keys)
		return err
	})
	return has, err
}

func (s *Store) hasSyntax(ctx context.Context, c *tx, keys []store.SyntaxKey) (map[store.SyntaxKey]bool, error) {
	has := make(map[store.SyntaxKey]bool, len(keys))
	return has, s.eachKey(ctx, c, keys, "SELECT r.content, r.version"+theKeys("syntaxes", ""), nil, nil, func(k store.SyntaxKey) error {
		has[k] = true
		return nil
	})
}

// DropSyntax drops syntaxes with their marks.
func (s *Store) DropSyntax(ctx context.Context, keys []store.SyntaxKey) error {
	return s.write(ctx, func(c *tx) error {
		for part := range slices.Chunk(keys, chunkSize) {
			k, err := s.syntaxKeys(ctx, c, part)
			if err != nil {
				return err
			}
			for _, table := range []string{"embedded", "syntaxes"} {
				_, err := c.exec(ctx, "DELETE FROM "+table+" AS x USING unnest($2::bytea[], $3::bigint[]) AS k (content, version)"+
					" WHERE x.tenant = $1 AND x.content = k.content AND x.version = k.version", k.contents, k.versions)
				if err != nil {
					return fmt.Errorf("drop syntaxes: %w", err)
				}
			}
		}
		return nil
	})
}

// encodedSyntax is a syntax ready to be written.
type encodedSyntax struct {
	key   store.SyntaxKey
	texts [][]byte
	body  []byte
}

// encodeSyntax takes the text hashes, which do not compress, out of the blob.
func (s *Store) encodeSyntax(r store.SyntaxRecord) encodedSyntax {
	x := r.Syntax
	x.Chunks = slices.Clone(x.Chunks)
	texts := make([][]byte, len(x.Chunks))
	for i := range x.Chunks {
		texts[i] = bytes.Clone(x.Chunks[i].TextHash[:])
		x.Chunks[i].TextHash = merkle.Hash{}
	}
	packed := s.codec.pack(store.AppendSyntax(nil, x))
	return encodedSyntax{r.Key, texts, checksum.Append(packed, "syntaxes", syntaxKeyParts(r.Key, texts)...)}
}

func syntaxKeyParts(k store.SyntaxKey, texts [][]byte) [][]byte {
	return append([][]byte{k.Content[:], []byte(k.Version), binary.BigEndian.AppendUint64(nil, uint64(len(texts)))}, texts...)
}

func (s *Store) decodeSyntax(k store.SyntaxKey, texts [][]byte, body []byte) (store.Syntax, error) {
	packed, err := checksum.Cut(body, "syntaxes", syntaxKeyParts(k, texts)...)
	if err != nil {
		return store.Syntax{}, err
	}
	data, err := s.codec.unpack(packed)
	if err != nil {
		return store.Syntax{}, err
	}
	x, err := store.DecodeSyntax(data)
	if err != nil || len(x.Chunks) != len(texts) {
		return store.Syntax{}, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	for i := range x.Chunks {
		if x.Chunks[i].TextHash, err = hashOf(texts[i]); err != nil {
			return store.Syntax{}, err
		}
	}
	return x, nil
}

// PutSyntax stores syntaxes; a key that exists keeps what it has.
func (s *Store) PutSyntax(ctx context.Context, records []store.SyntaxRecord) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	encoded := make([]encodedSyntax, 0, len(records))
	versions := map[string]int64{}
	for _, r := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		encoded = append(encoded, s.encodeSyntax(r))
		if _, ok := versions[r.Key.Version]; !ok {
			id, err := s.putName(ctx, r.Key.Version)
			if err != nil {
				return err
			}
			versions[r.Key.Version] = id
		}
	}
	// Of two with one key the first one counts, and rows are written in one order.
	slices.SortStableFunc(encoded, func(a, b encodedSyntax) int {
		return cmp.Or(bytes.Compare(a.key.Content[:], b.key.Content[:]), cmp.Compare(a.key.Version, b.key.Version))
	})
	encoded = slices.CompactFunc(encoded, func(a, b encodedSyntax) bool { return a.key == b.key })
	return s.write(ctx, func(c *tx) error {
		err := c.stage(ctx, stageSyntaxes, len(encoded), func(i int) ([]any, error) {
			x := encoded[i]
			return []any{x.key.Content[:], versions[x.key.Version], x.texts, x.body}, nil
		})
		if err != nil {
			return err
		}
		_, err = c.exec(ctx, `INSERT INTO syntaxes (tenant, content, version, texts, body)
			SELECT $1, content, version, texts, body FROM stage_syntaxes ORDER BY content, version ON CONFLICT DO NOTHING`)
		if err != nil {
			return fmt.Errorf("put syntaxes: %w", err)
		}
		return nil
	})
}

package pgstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Content returns the bytes of a content, verified against its hash.
func (s *Store) Content(ctx context.Context, h merkle.Hash) (data []byte, err error) {
	var packed []byte
	found, err := s.row(ctx, "SELECT body FROM contents WHERE tenant = $1 AND hash = $2", []any{h[:]}, &packed)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err == nil {
		data, err = s.unpackContent(h, packed)
	}
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", h.Short(), err)
	}
	return data, nil
}

func (s *Store) unpackContent(h merkle.Hash, packed []byte) ([]byte, error) {
	data, err := s.codec.unpack(packed)
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != h {
		return nil, fmt.Errorf("%s does not have its hash: %w", h, store.ErrCorrupt)
	}
	return data, nil
}

// HasContents returns the hashes that the store holds.
func (s *Store) HasContents(ctx context.Context, hashes []merkle.Hash) (has map[merkle.Hash]bool, err error) {
	err = s.look(ctx, func(r rows) error {
		has, err = r.HasContents(ctx, hashes)
		return err
	})
	return has, err
}

// HasContents returns the hashes that are stored.
func (r rows) HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	return r.c.hasContents(ctx, hashes)
}

func (c *tx) hasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	has := make(map[merkle.Hash]bool, len(hashes))
	for part := range slices.Chunk(hashes, chunkSize) {
		err := c.each(ctx, "SELECT hash FROM contents WHERE tenant = $1 AND hash = ANY($2)", []any{raw(part)}, func(rows pgx.Rows) error {
			var b []byte
			if err := rows.Scan(&b); err != nil {
				return err
			}
			h, err := hashOf(b)
			has[h] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look up contents: %w", err)
		}
	}
	return has, nil
}

// raw are hashes as an argument.
func raw(hashes []merkle.Hash) [][]byte {
	out := make([][]byte, len(hashes))
	for i := range hashes {
		out[i] = hashes[i][:]
	}
	return out
}

// PutContents stores contents.
func (s *Store) PutContents(ctx context.Context, contents []store.Content) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	p := s.newPacking(contents)
	if p.err != nil || len(contents) == 0 {
		return p.err
	}
	if err := s.view(ctx, func(c *tx) error { return p.look(ctx, c) }); err != nil {
		return err
	}
	return s.write(ctx, func(c *tx) error { return p.put(ctx, c) })
}

// packing compresses and writes those contents that the store lacks, each once.
type packing struct {
	s        *Store
	contents []store.Content // by hash, without repeats
	hashes   []merkle.Hash
	packed   map[merkle.Hash][]byte
	err      error // of a content without its hash
}

func (s *Store) newPacking(contents []store.Content) *packing {
	p := &packing{s: s, packed: map[merkle.Hash][]byte{}}
	p.contents = slices.Clone(contents)
	// All writers take the rows in one order, so that none waits for another in a circle.
	slices.SortFunc(p.contents, func(a, b store.Content) int {
		return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), bytes.Compare(a.Data, b.Data))
	})
	p.contents = slices.CompactFunc(p.contents, func(a, b store.Content) bool { return a.Hash == b.Hash && bytes.Equal(a.Data, b.Data) })
	for _, c := range p.contents {
		if sha256.Sum256(c.Data) != c.Hash {
			p.err = fmt.Errorf("put content %s: %w", c.Hash.Short(), store.ErrChecksum)
			break
		}
		p.hashes = append(p.hashes, c.Hash)
	}
	return p
}

// look compresses what the store lacks now, before a transaction holds anything.
func (p *packing) look(ctx context.Context, c *tx) error {
	has, err := c.hasContents(ctx, p.hashes)
	if err != nil {
		return err
	}
	for _, content := range p.contents {
		if !has[content.Hash] && ctx.Err() == nil {
			p.pack(content)
		}
	}
	return ctx.Err()
}

func (p *packing) pack(c store.Content) []byte {
	body, ok := p.packed[c.Hash]
	if !ok {
		body = p.s.codec.pack(c.Data)
		p.packed[c.Hash] = body
	}
	return body
}

// put writes the contents that are missing and makes the others young again.
func (p *packing) put(ctx context.Context, c *tx) error {
	if p.err != nil || len(p.contents) == 0 {
		return p.err
	}
	now := p.s.now().UnixNano()
	has := map[merkle.Hash]bool{}
	for part := range slices.Chunk(p.hashes, chunkSize) {
		err := c.each(ctx, "SELECT hash FROM contents WHERE tenant = $1 AND hash = ANY($2) ORDER BY hash FOR NO KEY UPDATE", []any{raw(part)},
			func(rows pgx.Rows) error {
				var b []byte
				if err := rows.Scan(&b); err != nil {
					return err
				}
				h, err := hashOf(b)
				has[h] = true
				return err
			})
		if err != nil {
			return fmt.Errorf("look up contents: %w", err)
		}
	}
	if len(has) > 0 {
		_, err := c.exec(ctx, "UPDATE contents SET put_at = $2 WHERE tenant = $1 AND hash = ANY($3) AND put_at <> $2", now, raw(p.hashes))
		if err != nil {
			return fmt.Errorf("touch contents: %w", err)
		}
	}
	var fresh []store.Content
	for _, content := range p.contents {
		if !has[content.Hash] {
			fresh = append(fresh, content)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	err := c.stage(ctx, stageContents, len(fresh), func(i int) ([]any, error) {
		return []any{fresh[i].Hash[:], int64(len(fresh[i].Data)), p.pack(fresh[i])}, ctx.Err()
	})
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, `INSERT INTO contents (tenant, hash, size, put_at, body) SELECT $1, hash, size, $2, body FROM stage_contents ORDER BY hash
		ON CONFLICT (tenant, hash) DO UPDATE SET put_at = excluded.put_at`, now)
	if err != nil {
		return fmt.Errorf("put contents: %w", err)
	}
	return nil
}

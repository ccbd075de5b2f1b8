package sqlitestore

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Content returns the bytes of a content, verified against its hash.
func (s *Store) Content(ctx context.Context, h merkle.Hash) (data []byte, err error) {
	err = s.view(ctx, func(c *session) error {
		data, err = s.content(c, h)
		return err
	})
	return data, err
}

func (s *Store) content(c *session, h merkle.Hash) ([]byte, error) {
	var packed []byte
	found, err := c.one("SELECT data FROM contents JOIN bodies USING (id) WHERE hash = ?", []any{h[:]}, &packed)
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", h.Short(), err)
	}
	if !found {
		return nil, fmt.Errorf("content %s: %w", h.Short(), store.ErrNotFound)
	}
	data, err := s.codec.unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", h, err)
	}
	if sha256.Sum256(data) != h {
		return nil, fmt.Errorf("content %s does not have its hash: %w", h, store.ErrCorrupt)
	}
	return data, nil
}

// HasContents returns the hashes that the store holds.
func (s *Store) HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	has := make(map[merkle.Hash]bool, len(hashes))
	err := s.view(ctx, func(c *session) error {
		for _, h := range hashes {
			found, err := c.hasContent(h)
			if err != nil {
				return fmt.Errorf("look up content %s: %w", h.Short(), err)
			}
			if found {
				has[h] = true
			}
		}
		return nil
	})
	return has, err
}

func (c *session) hasContent(h merkle.Hash) (bool, error) {
	var one int
	return c.one("SELECT 1 FROM contents WHERE hash = ?", []any{h[:]}, &one)
}

// PutContents stores contents.
func (s *Store) PutContents(ctx context.Context, contents []store.Content) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	packed, err := s.packContents(ctx, contents)
	if err != nil {
		return err
	}
	return s.write(ctx, func(c *session) error { return s.putContents(c, packed) })
}

// packedContent is a content ready to be written.
type packedContent struct {
	hash merkle.Hash
	size int
	data []byte
}

// packContents verifies and compresses contents before a transaction begins.
func (s *Store) packContents(ctx context.Context, contents []store.Content) ([]packedContent, error) {
	packed := make([]packedContent, 0, len(contents))
	for _, c := range contents {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if sha256.Sum256(c.Data) != c.Hash {
			return nil, fmt.Errorf("put content %s: %w", c.Hash.Short(), store.ErrChecksum)
		}
		packed = append(packed, packedContent{c.Hash, len(c.Data), s.codec.pack(c.Data)})
	}
	return packed, nil
}

func (s *Store) putContents(c *session, contents []packedContent) error {
	now := s.now().UnixNano()
	for _, p := range contents {
		var id, at int64
		found, err := c.one("SELECT id, put_at FROM contents WHERE hash = ?", []any{p.hash[:]}, &id, &at)
		if err != nil {
			return fmt.Errorf("put content %s: %w", p.hash.Short(), err)
		}
		if found {
			if at != now {
				err = c.exec("UPDATE contents SET put_at = ? WHERE id = ?", now, id)
			}
		} else {
			err = c.insertContent(p, now)
		}
		if err != nil {
			return fmt.Errorf("put content %s: %w", p.hash.Short(), err)
		}
	}
	return nil
}

func (c *session) insertContent(p packedContent, now int64) error {
	result, err := c.change("INSERT INTO contents (hash, size, stored, put_at) VALUES (?, ?, ?, ?)", p.hash[:], p.size, len(p.data), now)
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	return c.exec("INSERT INTO bodies (id, data) VALUES (?, ?)", id, p.data)
}

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
	data, err := s.framed(c, h)
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", h.Short(), err)
	}
	if sha256.Sum256(data) != h {
		return nil, fmt.Errorf("content %s does not have its hash: %w", h, store.ErrCorrupt)
	}
	return data, nil
}

// HasContents returns the hashes that the store holds.
func (s *Store) HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	has := map[merkle.Hash]bool{}
	err := s.look(ctx, func(r *rows) (err error) {
		has, err = r.HasContents(ctx, hashes)
		return err
	})
	return has, err
}

// HasContents returns the hashes that are stored.
func (r *rows) HasContents(_ context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	has := make(map[merkle.Hash]bool, len(hashes))
	for _, h := range hashes {
		var one int
		found, err := r.c.one("SELECT 1 FROM contents WHERE hash = ?", []any{h[:]}, &one)
		if err != nil {
			return nil, fmt.Errorf("look up content %s: %w", h.Short(), err)
		}
		if found {
			has[h] = true
		}
	}
	return has, nil
}

// PutContents stores contents.
func (s *Store) PutContents(ctx context.Context, contents []store.Content) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	frames, err := s.packContents(ctx, contents)
	if err != nil {
		return err
	}
	return s.write(ctx, func(c *session) error { return s.putContents(c, frames) })
}

// packContents verifies and compresses contents before a transaction begins.
func (s *Store) packContents(ctx context.Context, contents []store.Content) ([]frame, error) {
	var packer framePacker
	for _, c := range contents {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if sha256.Sum256(c.Data) != c.Hash {
			return nil, fmt.Errorf("put content %s: %w", c.Hash.Short(), store.ErrChecksum)
		}
		packer.add(s.codec, c.Hash, c.Data)
	}
	return packer.finish(s.codec), nil
}

func (s *Store) putContents(c *session, frames []frame) error {
	now := s.now().UnixNano()
	for _, f := range frames {
		var fresh []member
		for _, m := range f.members {
			found, err := c.touchContent(m.hash, now)
			if err != nil {
				return fmt.Errorf("put content %s: %w", m.hash.Short(), err)
			}
			if !found {
				fresh = append(fresh, m)
			}
		}
		if len(fresh) == 0 {
			continue
		}
		id, err := c.insertFrame(f)
		if err != nil {
			return err
		}
		for _, m := range fresh {
			// A content may stand twice in one call.
			err := c.exec("INSERT INTO contents (hash, size, frame, start, put_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
				m.hash[:], m.size, id, m.start, now)
			if err != nil {
				return fmt.Errorf("put content %s: %w", m.hash.Short(), err)
			}
		}
	}
	return nil
}

// touchContent makes a content young again, and reports whether the store has it.
func (c *session) touchContent(h merkle.Hash, now int64) (bool, error) {
	var id, at int64
	found, err := c.one("SELECT id, put_at FROM contents WHERE hash = ?", []any{h[:]}, &id, &at)
	if err == nil && found && at != now {
		err = c.exec("UPDATE contents SET put_at = ? WHERE id = ?", now, id)
	}
	return found, err
}

package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Content returns the bytes of a content.
func (s *Store) Content(ctx context.Context, h merkle.Hash) (data []byte, err error) {
	err = s.read(ctx, func() error {
		c, ok := s.contents[h]
		if !ok {
			return fmt.Errorf("content %s: %w", h.Short(), store.ErrNotFound)
		}
		data = bytes.Clone(c.data)
		return nil
	})
	return data, err
}

// HasContents returns the hashes that the store holds.
func (s *Store) HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	var has map[merkle.Hash]bool
	err := s.read(ctx, func() (err error) {
		has, err = rows{s}.HasContents(ctx, hashes)
		return err
	})
	return has, err
}

func (r rows) HasContents(_ context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	has := map[merkle.Hash]bool{}
	for _, h := range hashes {
		if _, ok := r.s.contents[h]; ok {
			has[h] = true
		}
	}
	return has, nil
}

// PutContents stores contents.
func (s *Store) PutContents(ctx context.Context, contents []store.Content) error {
	return s.write(ctx, func() error { return s.putContents(contents) })
}

// putContents stores all of them or none.
func (s *Store) putContents(contents []store.Content) error {
	for _, c := range contents {
		if merkle.Hash(sum(c.Data)) != c.Hash {
			return fmt.Errorf("put content %s: %w", c.Hash.Short(), store.ErrChecksum)
		}
	}
	for _, c := range contents {
		s.contents[c.Hash] = content{data: append([]byte{}, c.Data...), at: s.now()}
	}
	return nil
}

package memstore

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	has := map[merkle.Hash]bool{}
	err := s.read(ctx, func() error {
		for _, h := range hashes {
			if _, ok := s.contents[h]; ok {
				has[h] = true
			}
		}
		return nil
	})
	return has, err
}

// PutContents stores contents.
func (s *Store) PutContents(ctx context.Context, contents []store.Content) error {
	return s.write(ctx, func() error {
		if err := verify(contents); err != nil {
			return err
		}
		s.putContents(contents)
		return nil
	})
}

func (s *Store) putContents(contents []store.Content) {
	for _, c := range contents {
		s.contents[c.Hash] = content{data: append([]byte{}, c.Data...), at: s.now()}
	}
}

func verify(contents []store.Content) error {
	for _, c := range contents {
		if merkle.Hash(sum(c.Data)) != c.Hash {
			return fmt.Errorf("put content %s: %w", c.Hash.Short(), store.ErrChecksum)
		}
	}
	return nil
}

func sum(data []byte) [32]byte { return sha256.Sum256(data) }

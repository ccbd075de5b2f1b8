package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/freshet/freshet/store"
)

// Usage counts what the store holds and measures its directory.
func (s *Store) Usage(ctx context.Context) (u store.Usage, err error) {
	err = s.view(ctx, func(c *session) error {
		_, err := c.one("SELECT count(*), coalesce(sum(size), 0), (SELECT coalesce(sum(length(data)), 0) FROM frames) FROM contents", nil,
			&u.Contents, &u.ContentBytes, &u.StoredBytes)
		if err != nil {
			return err
		}
		for table, n := range map[string]*int{"syntaxes": &u.Syntaxes, "vectors": &u.Vectors, "manifest": &u.ManifestRows} {
			if _, err := c.one("SELECT count(*) FROM "+table, nil, n); err != nil {
				return err
			}
		}
		all, err := c.segments()
		for _, g := range all {
			u.Segments++
			u.SegmentBytes += g.ref.Bytes
		}
		return err
	})
	if err != nil {
		return store.Usage{}, fmt.Errorf("usage: %w", err)
	}
	u.DirectoryUsed, err = s.directorySize()
	return u, err
}

func (s *Store) directorySize() (int64, error) {
	var size int64
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", s.dir, err)
	}
	return size, nil
}

// ignoreMissing forgives files that vanish during a walk, as logs and temporary files do.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

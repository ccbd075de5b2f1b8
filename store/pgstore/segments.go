package pgstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
)

// storedSegment is a row of the table of segments.
type storedSegment struct {
	ref store.SegmentRef
	sum [sha256.Size]byte
}

// segments returns those of the ids that exist.
func (c *session) segments(ctx context.Context, ids []store.SegmentID) (map[store.SegmentID]storedSegment, error) {
	known := map[store.SegmentID]storedSegment{}
	if len(ids) == 0 {
		return known, nil
	}
	err := c.each(ctx, "SELECT id, files, chunks, bytes, sum FROM segments WHERE tenant = $1 AND id = ANY($2)", []any{numbers(ids)},
		func(rows pgx.Rows) error {
			var id, files, chunks, size int64
			var sum []byte
			if err := rows.Scan(&id, &files, &chunks, &size, &sum); err != nil {
				return err
			}
			h, err := hashOf(sum)
			known[store.SegmentID(id)] = storedSegment{
				store.SegmentRef{ID: store.SegmentID(id), Files: int(files), Chunks: int(chunks), Bytes: size}, h,
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read segments: %w", err)
	}
	return known, nil
}

// partSize is how many bytes of a segment are one row.
const partSize = 4 << 20

// PutSegment stores a segment and, as it is likely to be read here, keeps it in the cache.
func (s *Store) PutSegment(ctx context.Context, id store.CodebaseID, files, chunks int, data []byte) (made store.SegmentID, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	sum := sha256.Sum256(data)
	err = s.write(ctx, func(c *session) error {
		if _, err := c.codebase(ctx, id); err != nil {
			return err
		}
		var row int64
		_, err := c.one(ctx, `INSERT INTO segments (tenant, codebase, files, chunks, bytes, sum, put_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
			RETURNING id`, []any{string(id), int64(files), int64(chunks), int64(len(data)), sum[:], s.now().UnixNano()}, &row)
		if err != nil {
			return err
		}
		c.written++
		made = store.SegmentID(row)
		for part := 0; part*partSize < len(data); part++ {
			body := data[part*partSize : min((part+1)*partSize, len(data))]
			_, err := c.exec(ctx, "INSERT INTO segment_parts (tenant, segment, part, body) VALUES ($1, $2, $3, $4)", row, int64(part), body)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("put segment: %w", err)
	}
	g := storedSegment{store.SegmentRef{ID: made, Bytes: int64(len(data))}, sum}
	if err := s.cache.keep(g, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		s.log.Warn("segment is not cached", "segment", made, "error", err)
	}
	return made, nil
}

// OpenSegment maps a segment, which is fetched when it is not cached.
func (s *Store) OpenSegment(ctx context.Context, id store.SegmentID) (store.Segment, error) {
	var g storedSegment
	err := s.view(ctx, func(c *session) error {
		known, err := c.exist(ctx, []store.SegmentID{id})
		g = known[id]
		return err
	})
	if err != nil {
		return nil, err
	}
	opened, err := s.cache.take(g)
	// Others may drop the file from a cache that is small before it is mapped here.
	for try := 1; try <= maxTries && errors.Is(err, errNotCached); try++ {
		if err := s.cache.keep(g, func(w io.Writer) error { return s.fetch(ctx, g, w) }); err != nil {
			return nil, fmt.Errorf("fetch segment %d: %w", id, err)
		}
		opened, err = s.cache.take(g)
	}
	if err != nil {
		return nil, fmt.Errorf("segment %d: %w", id, err)
	}
	return opened, nil
}

// fetch writes the bytes of a segment, one part at a time.
func (s *Store) fetch(ctx context.Context, g storedSegment, w io.Writer) error {
	for part := int64(0); part*partSize < g.ref.Bytes; part++ {
		var body []byte
		found := false
		err := s.view(ctx, func(c *session) (err error) {
			found, err = c.one(ctx, "SELECT body FROM segment_parts WHERE tenant = $1 AND segment = $2 AND part = $3",
				[]any{int64(g.ref.ID), part}, &body)
			if err == nil && !found {
				_, err = c.exist(ctx, []store.SegmentID{g.ref.ID}) // or was it collected meanwhile?
			}
			return err
		})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("part %d is gone: %w", part, store.ErrCorrupt)
		}
		if _, err := w.Write(body); err != nil {
			return err
		}
	}
	return nil
}

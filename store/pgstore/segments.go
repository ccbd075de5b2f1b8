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
func (c *tx) segments(ctx context.Context, ids []store.SegmentID) (map[store.SegmentID]storedSegment, error) {
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

// numbers are ids as an argument.
func numbers(ids []store.SegmentID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// stored returns one segment, or store.ErrNotFound.
func (c *tx) stored(ctx context.Context, id store.SegmentID) (storedSegment, error) {
	known, err := c.segments(ctx, []store.SegmentID{id})
	g, ok := known[id]
	if err == nil && !ok {
		err = fmt.Errorf("segment %d: %w", id, store.ErrNotFound)
	}
	return g, err
}

// Segments returns those of the segments that exist.
func (r rows) Segments(ctx context.Context, ids []store.SegmentID) (map[store.SegmentID]store.SegmentRef, error) {
	known, err := r.c.segments(ctx, ids)
	refs := make(map[store.SegmentID]store.SegmentRef, len(known))
	for id, g := range known {
		refs[id] = g.ref
	}
	return refs, err
}

// EndGraceOfSegments makes segments old.
func (r rows) EndGraceOfSegments(ctx context.Context, ids []store.SegmentID) error {
	_, err := r.c.exec(ctx, "UPDATE segments SET put_at = 0 WHERE tenant = $1 AND id = ANY($2) AND put_at <> 0", numbers(ids))
	if err != nil {
		return fmt.Errorf("age segments: %w", err)
	}
	return nil
}

// Dead lists the files of segments that are dead in a snapshot.
func (r rows) Dead(ctx context.Context, number uint64, ids []store.SegmentID) (map[store.SegmentID][]uint32, error) {
	dead := map[store.SegmentID][]uint32{}
	err := r.c.each(ctx, "SELECT segment, ordinals FROM dead WHERE tenant = $1 AND segment = ANY($2) AND since <= $3",
		[]any{numbers(ids), int64(number)}, func(rows pgx.Rows) error {
			var id int64
			var ordinals []int64
			if err := rows.Scan(&id, &ordinals); err != nil {
				return err
			}
			for _, ordinal := range ordinals {
				dead[store.SegmentID(id)] = append(dead[store.SegmentID(id)], uint32(ordinal))
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read dead files: %w", err)
	}
	return dead, nil
}

// AddDead adds files to those of segments that die with a snapshot.
func (r rows) AddDead(ctx context.Context, number uint64, dead map[store.SegmentID][]uint32) error {
	var segments, ordinals []int64
	for id, files := range dead {
		for _, ordinal := range files {
			segments, ordinals = append(segments, int64(id)), append(ordinals, int64(ordinal))
		}
	}
	if len(segments) == 0 {
		return nil
	}
	_, err := r.c.exec(ctx, `INSERT INTO dead (tenant, segment, since, ordinals)
		SELECT $1, segment, $2, array_agg(ordinal) FROM unnest($3::bigint[], $4::bigint[]) AS d (segment, ordinal) GROUP BY segment
		ON CONFLICT (tenant, segment, since) DO UPDATE SET ordinals = dead.ordinals || excluded.ordinals`,
		int64(number), segments, ordinals)
	if err != nil {
		return fmt.Errorf("put dead files: %w", err)
	}
	return nil
}

// partSize is how many bytes of a segment are one row.
const partSize = 4 << 20

// PutSegment stores a segment and, as it is likely to be read here, keeps it in the cache.
func (s *Store) PutSegment(ctx context.Context, id store.CodebaseID, files, chunks int, data []byte) (made store.SegmentID, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	sum := sha256.Sum256(data)
	err = s.write(ctx, func(c *tx) error {
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
	err := s.view(ctx, func(c *tx) (err error) {
		g, err = c.stored(ctx, id)
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
		err := s.view(ctx, func(c *tx) (err error) {
			found, err = c.one(ctx, "SELECT body FROM segment_parts WHERE tenant = $1 AND segment = $2 AND part = $3",
				[]any{int64(g.ref.ID), part}, &body)
			if err == nil && !found {
				_, err = c.stored(ctx, g.ref.ID) // or was it collected meanwhile?
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

package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgvectorpgx "github.com/pgvector/pgvector-go/pgx"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// defaultCandidatesFrom is how many chunks a snapshot has before its candidates are worth an
// index, as search.Options.CandidatesFrom has it: below it, readers scan the segments that they
// map faster.
const defaultCandidatesFrom = 2_000_000

// stageNearest is where COPY writes the vectors of a segment.
const stageNearest = "stage_nearest (chunk bigint, vector halfvec)"

// IndexCandidates gives the server the vectors of a sealed snapshot of Options.CandidatesFrom
// chunks or more, so that it can propose candidates (see Candidates), and makes their index
// after the first load. What it has already it keeps; it may be called again and from
// several processes.
func (s *Store) IndexCandidates(ctx context.Context, id store.CodebaseID, number uint64) error {
	view, err := s.View(ctx, id, number)
	if err != nil {
		return err
	}
	chunks := 0
	for _, ref := range view.Segments {
		chunks += ref.Chunks
	}
	if chunks < s.opts.CandidatesFrom {
		return nil
	}
	recipe, err := s.Recipe(ctx, view.Snapshot.Fingerprint)
	if err != nil {
		return err
	}
	dimension := recipe.Embedding.Dimension
	if dimension == 0 {
		return nil
	}
	set, missing, err := s.openNearest(ctx, view, dimension)
	if err != nil {
		return fmt.Errorf("open candidates of codebase %s: %w", id, err)
	}
	for _, segment := range missing {
		if err := s.loadNearest(ctx, set, segment, dimension); err != nil {
			return fmt.Errorf("load candidates of segment %d: %w", segment, err)
		}
	}
	return s.run(ctx, building(), func(c *tx) error {
		if _, err := c.exec(ctx, buildSettings, chunks, dimension); err != nil {
			return fmt.Errorf("prepare the index of candidates: %w", err)
		}
		if _, err := c.exec(ctx, "SELECT nearest_index($2) FROM nearest_sets WHERE tenant = $1 AND id = $2 AND NOT indexed", set); err != nil {
			return fmt.Errorf("index candidates of codebase %s: %w", id, err)
		}
		return nil
	})
}

// openNearest returns the set of a view, made when there is none, and the segments that it
// lacks. To make one takes the table alone, from all who load others.
func (s *Store) openNearest(ctx context.Context, view store.View, dimension int) (set int64, missing []store.SegmentID, err error) {
	err = s.patiently(ctx, s.opts.LockTimeout, func(c *tx) error {
		_, err := c.one(ctx, "SELECT nearest_open($2, $3, $4) WHERE $1 <> ''",
			[]any{string(view.Snapshot.Codebase), string(view.Snapshot.Fingerprint), dimension}, &set)
		if err != nil {
			return err
		}
		missing = nil
		return c.each(ctx, `SELECT id FROM unnest($3::bigint[]) WITH ORDINALITY AS s (id, place) WHERE NOT EXISTS (
			SELECT FROM nearest_segments WHERE tenant = $1 AND set = $2 AND segment = s.id) ORDER BY place`,
			[]any{set, numbers(segmentIDs(view))}, func(rows pgx.Rows) error {
				var id int64
				err := rows.Scan(&id)
				missing = append(missing, store.SegmentID(id))
				return err
			})
	})
	return set, missing, err
}

func segmentIDs(view store.View) []store.SegmentID {
	ids := make([]store.SegmentID, len(view.Segments))
	for i, ref := range view.Segments {
		ids[i] = ref.ID
	}
	return ids
}

// buildSettings gives the build of an index the memory that its graph takes, up to four
// gigabytes (measured: 820 bytes a vector beside the numbers; a graph that does not fit
// grows five times slower from there on). It has one process build where pgvector is older
// than 0.8.2, whose parallel build overruns a buffer (CVE-2026-3172), and where the graph is
// large: several share it through /dev/shm, which containers keep small.
const buildSettings = `SELECT set_config('maintenance_work_mem', kb::text, true),
	(SELECT set_config('max_parallel_maintenance_workers', '0', true) FROM pg_extension
		WHERE extname = 'vector' AND (kb > 786432 OR string_to_array(extversion, '.')::int[] < ARRAY[0, 8, 2]))
	FROM (SELECT least(4194304, greatest(65536, $2::bigint * (2 * $3::bigint + 900) / 1024)) AS kb) AS graph WHERE $1 <> ''`

// loadNearest writes the vectors of one segment, if the set does not have them. Into an
// index that stands this takes minutes for a large one.
func (s *Store) loadNearest(ctx context.Context, set int64, id store.SegmentID, dimension int) (err error) {
	opened, err := s.OpenSegment(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	g, err := segment.Open(opened.Bytes())
	if err != nil {
		return err
	}
	var chunks []int
	for chunk := range g.Chunks() {
		if g.Dimension() == dimension && g.HasVector(chunk) {
			chunks = append(chunks, chunk)
		}
	}
	return s.run(ctx, building(), func(c *tx) error {
		n, err := c.exec(ctx, "INSERT INTO nearest_segments (tenant, set, segment) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", set, int64(id))
		if err != nil || n == 0 {
			return err
		}
		if err := c.knowVectors(ctx); err != nil {
			return err
		}
		err = c.stage(ctx, stageNearest, len(chunks), func(i int) ([]any, error) {
			row, scale := g.Vector(chunks[i])
			floats := make([]float32, len(row))
			for d, x := range row {
				floats[d] = float32(int8(x)) * scale
			}
			return []any{int64(chunks[i]), pgvector.NewHalfVector(floats)}, nil
		})
		if err != nil {
			return err
		}
		_, err = c.exec(ctx, "INSERT INTO nearest (tenant, set, segment, chunk, vector) SELECT $1, $2, $3, chunk, vector FROM stage_nearest", set, int64(id))
		return err
	})
}

// The width of one pass over the index is the number asked for, within what pgvector takes:
// one that is narrower misses a fifth of the ten nearest of queries that are near nothing.
// A second pass takes longer than the first, so no more than one finds are returned.
const (
	narrowest = 100
	widest    = 1000
)

// Candidates proposes at most so many chunks of a view, and at most 1,000, whose vectors are
// nearest to a query's. ok is false when the server does not have the vectors of all its
// segments: the caller looks itself then.
func (s *Store) Candidates(ctx context.Context, view store.View, query []float32, most int) (near []store.ChunkRef, ok bool, err error) {
	ids, most := segmentIDs(view), min(most, widest)
	err = s.view(ctx, func(c *tx) error {
		near, ok = nil, false
		var set int64
		_, err := c.one(ctx, `SELECT id FROM nearest_sets WHERE tenant = $1 AND codebase = $2 AND fingerprint = $3 AND dimension = $4 AND indexed
			AND (SELECT count(*) FROM nearest_segments WHERE tenant = $1 AND set = id AND segment = ANY($5)) = cardinality($5::bigint[])`,
			[]any{string(view.Snapshot.Codebase), string(view.Snapshot.Fingerprint), len(query), numbers(ids)}, &set)
		if err != nil || set == 0 {
			return err
		}
		ok = true
		if err := c.knowVectors(ctx); err != nil {
			return err
		}
		// The scan goes on where a filter left too few, in an order that is nearly right.
		if _, err := c.conn.Exec(ctx, fmt.Sprintf("SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = %d; SET LOCAL enable_sort = off",
			max(most, narrowest))); err != nil {
			return err
		}
		// The index is of the dimension and in the set's partition, so both are literals.
		return c.each(ctx, fmt.Sprintf(`SELECT segment, chunk FROM nearest WHERE tenant = $1 AND set = %d AND segment = ANY($2)
			ORDER BY vector::halfvec(%d) <=> $3 LIMIT $4`, set, len(query)), []any{numbers(ids), pgvector.NewHalfVector(query), most}, func(rows pgx.Rows) error {
			var segment, chunk int64
			err := rows.Scan(&segment, &chunk)
			near = append(near, store.ChunkRef{Segment: store.SegmentID(segment), Chunk: uint32(chunk)})
			return err
		})
	})
	if err != nil {
		return nil, false, fmt.Errorf("candidates in codebase %s: %w", view.Snapshot.Codebase, err)
	}
	return near, ok, nil
}

// knowVectors has a connection encode vectors, which have no number that is the same in
// every database.
func (c *tx) knowVectors(ctx context.Context) error {
	if _, known := c.conn.TypeMap().TypeForName("halfvec"); known {
		return nil
	}
	return pgvectorpgx.RegisterTypes(ctx, c.conn)
}

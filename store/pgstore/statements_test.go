package pgstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest"
)

// roundTrips counts what a connection sends and waits for.
type roundTrips struct{ n atomic.Int64 }

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.n.Add(1)
	return ctx
}
func (r *roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	r.n.Add(1)
	return ctx
}
func (r *roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (r *roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (r *roundTrips) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	r.n.Add(1)
	return ctx
}
func (r *roundTrips) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// counted opens a store on one connection whose round trips are counted.
func counted(t *testing.T) (*Store, *roundTrips) {
	t.Helper()
	s := openTenant(t, Options{})
	config, trips := s.pool.Config(), &roundTrips{}
	config.ConnConfig.Tracer, config.MaxConns = trips, 1
	s.pool.Close()
	var err error
	if s.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	return s, trips
}

// tripsOfEdit are the round trips that an edit may cost, whatever its size: those of opening
// its snapshot, of marking its events as published and of sealing it.
var tripsOfEdit = map[string]int64{"open": 21, "published": 6, "seal": 14}

// TestEditIsSetWise: an edit costs as many round trips with 30 files as with one.
func TestEditIsSetWise(t *testing.T) {
	t.Parallel()
	s, trips := counted(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Register(ctx, store.Codebase{ID: "a", Root: "/a"})
	must(err)
	r := store.Recipe{Schema: 1, Chunker: "c"}
	var segments []store.SegmentID
	number := uint64(0)
	edit := func(files int) map[string]int64 {
		number++
		o := store.Opening{Codebase: "a", Number: number, Parent: number - 1, Recipe: r, Rebuild: number == 1}
		for i := range files {
			data := fmt.Append(nil, rand.Text(), i)
			c := store.Content{Hash: sha256.Sum256(data), Data: data}
			o.Contents = append(o.Contents, c)
			o.Upserts = append(o.Upserts, store.FileEntry{Path: fmt.Sprint("p", i), Content: c.Hash, Size: int64(len(data))})
			o.Stats = append(o.Stats, store.StatEntry{Path: fmt.Sprint("p", i)})
		}
		o.Events = []store.OutboxEvent{{Codebase: "a", Snapshot: number}}
		costs := map[string]int64{}
		cost := func(what string, fn func() error) {
			t.Helper()
			before := trips.n.Load()
			must(fn())
			costs[what] = trips.n.Load() - before
		}
		cost("open", func() error { _, err := s.Open(ctx, o); return err })
		cost("published", func() error {
			return s.MarkPublished(ctx, o.Events, store.LogPosition{Incarnation: "i", Sequence: number})
		})
		must(storetest.Finish(ctx, s, "a", number))
		id, err := s.PutSegment(ctx, "a", files, files, []byte("segment"))
		must(err)
		seal := store.Seal{Codebase: "a", Number: number, Level: store.LevelFull, Segments: append(segments, id), Dead: map[store.SegmentID][]uint32{}}
		for _, before := range segments {
			seal.Dead[before] = []uint32{0}
		}
		cost("seal", func() error { return s.Seal(ctx, seal) })
		segments = []store.SegmentID{id}
		return costs
	}
	edit(30)
	edit(30) // whose temporary tables and prepared statements the next find
	for _, files := range []int{1, 30} {
		if got := edit(files); fmt.Sprint(got) != fmt.Sprint(tripsOfEdit) {
			t.Errorf("an edit of %d files took %v round trips, want %v", files, got, tripsOfEdit)
		}
	}
}

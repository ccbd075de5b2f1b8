package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
)

// testReadersSeeWholeSnapshots seals snapshots all of whose files have the snapshot's
// number as their text, while readers check that no snapshot they see mixes two.
func testReadersSeeWholeSnapshots(t *testing.T, e *env) {
	const rounds, files, readers = 30, 20, 4
	id := e.register("a")
	done := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		defer close(done)
		for round := range rounds {
			if err := e.round(id, uint64(round+1), files); err != nil {
				return err
			}
		}
		return nil
	})
	for range readers {
		g.Go(func() error {
			for {
				if err := wholeSnapshot(e.ctx, e.s, id, files); err != nil && !e.overtaken(id, err) {
					return err
				}
				select {
				case <-done:
					return nil
				default:
				}
			}
		})
	}
	e.ok(g.Wait())
	e.same("current", e.current(id), uint64(rounds))
}

// overtaken reports whether a read failed because what it read was collected meanwhile,
// which a reader that looks up the current snapshot first must expect.
func (e *env) overtaken(id store.CodebaseID, err error) bool {
	return errors.Is(err, store.ErrNotFound) && e.current(id) > 8
}

func (e *env) round(id store.CodebaseID, number uint64, files int) error {
	text := fmt.Sprint(number)
	o := store.Opening{
		Codebase: id, Number: number, Parent: number - 1, Recipe: recipe("m1"), Root: hashOf(text), At: e.clock.now(),
		Contents: []store.Content{content(text)},
	}
	for i := range files {
		o.Upserts = append(o.Upserts, file(fmt.Sprintf("f%02d", i), text))
	}
	if _, err := e.s.Open(e.ctx, o); err != nil {
		return err
	}
	if err := Finish(e.ctx, e.s, id, number); err != nil {
		return err
	}
	sid, err := e.s.PutSegment(e.ctx, id, files, files, []byte(text))
	if err != nil {
		return err
	}
	err = e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: number, Level: store.LevelFull, At: e.clock.now(), Segments: []store.SegmentID{sid}})
	if err != nil {
		return err
	}
	if number%10 == 0 {
		_, err = e.s.Collect(e.ctx, store.Retention{Keep: 8})
	}
	return err
}

func wholeSnapshot(ctx context.Context, s store.Store, id store.CodebaseID, files int) error {
	c, err := s.Codebase(ctx, id)
	if err != nil || c.Current == 0 {
		return err
	}
	text := fmt.Sprint(c.Current)
	view, err := s.View(ctx, id, c.Current)
	if err != nil {
		return err
	}
	if view.Snapshot.Level != store.LevelFull || view.Snapshot.Root != hashOf(text) || len(view.Segments) != 1 {
		return fmt.Errorf("view %d is not whole: %+v", c.Current, view)
	}
	segment, err := s.OpenSegment(ctx, view.Segments[0].ID)
	if err != nil {
		return err
	}
	if string(segment.Bytes()) != text {
		return fmt.Errorf("view %d has the segment %q", c.Current, segment.Bytes())
	}
	if err := segment.Close(); err != nil {
		return err
	}
	n := 0
	for f, err := range s.Manifest(ctx, id, c.Current) {
		if err != nil {
			return err
		}
		if f.Content != hashOf(text) {
			return fmt.Errorf("manifest %d has %s of another snapshot", c.Current, f.Path)
		}
		n++
	}
	if n != files {
		return fmt.Errorf("manifest %d has %d files, want %d", c.Current, n, files)
	}
	upserted, _, err := s.Delta(ctx, id, c.Current)
	if err == nil && len(upserted) != files {
		err = fmt.Errorf("delta %d has %d files, want %d", c.Current, len(upserted), files)
	}
	return err
}

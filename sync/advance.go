package merklesync

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// advance opens a snapshot when the tree or the recipe differs from the newest one and
// that one does not await sealing. Its contents are in the store already; manifest delta,
// snapshot and events are one transaction, and publishing comes after it. With rebuild it
// opens one in any case, and parked files are tried again.
func (s *Synchronizer) advance(ctx context.Context, rebuild bool) error {
	st, retry := &s.state, rebuild
	if !st.loaded {
		return nil
	}
	foreign := st.latest.Number > 0 && st.latest.Fingerprint != s.fingerprint
	if st.awaiting() && (foreign || rebuild) {
		err := s.store.Abandon(ctx, s.id, st.latest.Number)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	// Another goroutine seals, and another process may have cancelled.
	if err := s.refresh(ctx); err != nil {
		return err
	}
	awaiting := st.awaiting()
	if awaiting {
		return nil
	}
	rebuild = rebuild || foreign || st.latest.Number == 0
	if !rebuild && !st.latest.Abandoned && st.latest.Root == st.observed.Root() {
		return nil
	}
	return s.open(ctx, rebuild, retry)
}

// refresh reads again how far the newest snapshot has come, unless it is at its end.
func (s *Synchronizer) refresh(ctx context.Context) error {
	st := &s.state
	if !st.awaiting() {
		return nil
	}
	latest, err := s.store.Snapshot(ctx, s.id, st.latest.Number)
	if err != nil {
		return err
	}
	if st.latest = latest; latest.Level == store.LevelFull {
		st.full = st.opened
	}
	return nil
}

func (s *Synchronizer) open(ctx context.Context, rebuild, retry bool) error {
	st := &s.state
	now := s.opts.Now().UTC()
	opening := store.Opening{
		Codebase: s.id, Number: st.latest.Number + 1, Parent: st.latest.Number, Recipe: s.opts.Recipe,
		Root: st.observed.Root(), Rebuild: rebuild, Retry: retry, Ref: st.scanner.Ref(), At: now,
	}
	changes := merkle.Diff(st.opened, st.observed)
	for _, c := range changes {
		switch c.Kind {
		case merkle.Removed:
			opening.Removes = append(opening.Removes, c.Path)
			continue
		case merkle.Renamed:
			opening.Removes = append(opening.Removes, c.From)
		}
		entry, ok := st.index.File(c.Path)
		if !ok || entry.Content != c.Leaf.Content {
			return fmt.Errorf("changed file %s is not in the index", merkle.QuotePath(c.Path))
		}
		entry.RenamedFrom = c.From
		opening.Upserts = append(opening.Upserts, entry)
	}
	work := opening.Upserts
	if rebuild {
		work = work[:0:0]
		for entry := range st.index.Files() {
			work = append(work, entry)
		}
	}
	parked, err := s.parked(ctx, opening)
	if err != nil {
		return err
	}
	if opening.Events, err = s.events(opening, work, parked); err != nil {
		return err
	}
	snapshot, err := s.store.Open(ctx, opening)
	if err != nil {
		return err
	}
	st.latest, st.opened = snapshot, st.observed
	s.opts.Log.Info("snapshot opened", "codebase", s.id, "snapshot", snapshot.Number,
		"changed", len(opening.Upserts), "removed", len(opening.Removes), "rebuild", rebuild)
	if s.opts.Observer != nil {
		s.opts.Observer.Opened(snapshot, len(work))
	}
	s.publishing.publish(ctx)
	return nil
}

// events makes the events of an opening for the outbox. Those of parked follow the others.
func (s *Synchronizer) events(o store.Opening, work []store.FileEntry, parked []event.Event) ([]store.OutboxEvent, error) {
	files := make([]event.File, len(work))
	for i, e := range work {
		files[i] = event.FileOf(e)
	}
	removed := make([]string, len(o.Removes))
	for i, path := range o.Removes {
		removed[i] = merkle.QuotePath(path)
	}
	events := event.Opening(
		event.Event{Codebase: o.Codebase, Snapshot: o.Number, Fingerprint: s.fingerprint, At: o.At},
		event.Opened{Parent: o.Parent, Root: o.Root, Rebuild: o.Rebuild, Ref: o.Ref, Recipe: o.Recipe},
		files, removed)
	events = append(events, parked...)
	out := make([]store.OutboxEvent, len(events))
	for i, e := range events {
		data, err := event.Encode(e)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", e.Type, err)
		}
		out[i] = store.OutboxEvent{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data}
	}
	return out, nil
}

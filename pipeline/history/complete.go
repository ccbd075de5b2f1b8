package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Complete makes a history that can be replayed out of the events of a log and the
// snapshots that the store retains. Snapshots whose events the log still has whole are
// taken from it; for others the events are made again from the manifests; the first one of
// each codebase becomes a whole one. With onlyLogged, snapshots that the events do not
// mention are left out.
func Complete(ctx context.Context, r store.Reader, recipe store.Recipe, events []event.Event, onlyLogged bool) ([]event.Event, error) {
	logged := groupBySnapshot(events)
	codebases, err := r.Codebases(ctx)
	if err != nil {
		return nil, err
	}
	var out []event.Event
	for _, c := range codebases {
		snapshots, err := r.Snapshots(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		slices.Reverse(snapshots)
		m := maker{reader: r, recipe: recipe}
		for _, s := range snapshots {
			own := logged[stepKey{c.ID, s.Number}]
			if onlyLogged && len(own) == 0 {
				continue
			}
			made, err := m.events(ctx, s, own)
			if err != nil {
				return nil, fmt.Errorf("snapshot %d of %s: %w", s.Number, c.ID, err)
			}
			out = append(out, made...)
		}
	}
	return out, nil
}

func groupBySnapshot(events []event.Event) map[stepKey][]event.Event {
	groups := map[stepKey][]event.Event{}
	for _, e := range events {
		if e.Snapshot > 0 {
			key := stepKey{e.Codebase, e.Snapshot}
			groups[key] = append(groups[key], e)
		}
	}
	return groups
}

// maker makes the events of one codebase's snapshots, oldest first.
type maker struct {
	reader   store.Reader
	recipe   store.Recipe
	previous *store.Snapshot
	files    map[string]store.FileEntry // of previous
}

func (m *maker) events(ctx context.Context, s store.Snapshot, logged []event.Event) ([]event.Event, error) {
	files := map[string]store.FileEntry{}
	for entry, err := range m.reader.Manifest(ctx, s.Codebase, s.Number) {
		if err != nil {
			return nil, err
		}
		files[entry.Path] = entry
	}
	before, previous := m.files, m.previous
	m.files, m.previous = files, &s
	parked := parkedOf(logged)
	if previous != nil && previous.Number+1 == s.Number {
		if steps, err := Fold(logged); err == nil && len(steps) == 1 {
			return logged, nil
		} else if err != nil && !errors.Is(err, ErrIncomplete) {
			return nil, err
		}
	}
	var changed []event.File
	var removed []string
	for path, entry := range files {
		if old, ok := before[path]; previous == nil || s.Rebuild || !ok || old.Content != entry.Content {
			changed = append(changed, event.FileOf(entry))
		}
	}
	for path := range before {
		if _, ok := files[path]; !ok {
			removed = append(removed, merkle.QuotePath(path))
		}
	}
	slices.SortFunc(changed, func(a, b event.File) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(removed)
	made := event.Opening(
		event.Event{Codebase: s.Codebase, Snapshot: s.Number, Fingerprint: s.Fingerprint, At: s.OpenedAt},
		event.Opened{Parent: s.Parent, Root: s.Root, Rebuild: previous == nil || s.Rebuild, Ref: s.Ref, Recipe: m.recipe},
		changed, removed)
	return append(made, parked...), nil
}

func parkedOf(events []event.Event) []event.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Parked == nil })
}

// Record writes the complete history that store and log hold, with every content it names.
// Credentials are covered: w.Masked counts them. Where there are none, the file says what
// store and log do, byte for byte.
func Record(ctx context.Context, r store.Reader, recipe store.Recipe, log []event.Event, w *Writer) error {
	events, err := Complete(ctx, r, recipe, log, false)
	if err != nil {
		return err
	}
	m := masker{reader: r}
	if events, err = m.masked(ctx, events); err != nil {
		return fmt.Errorf("mask credentials: %w", err)
	}
	w.Masked += m.spans
	for _, e := range events {
		if e.Changed != nil {
			for _, f := range e.Changed.Files {
				if err := m.record(ctx, w, f.Content); err != nil {
					return err
				}
			}
		}
		if err := w.Event(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *masker) record(ctx context.Context, w *Writer, h merkle.Hash) error {
	if w.Has(h) {
		return nil
	}
	if text, ok := m.texts[h]; ok {
		return w.Content(text)
	}
	data, err := m.reader.Content(ctx, h)
	if err != nil {
		return fmt.Errorf("content %s: %w", h.Short(), err)
	}
	return w.Content(data)
}

package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Step is one snapshot of a codebase as its events describe it.
type Step struct {
	Codebase store.CodebaseID
	Snapshot uint64
	Opened   event.Opened
	At       event.Event
	Changed  []store.FileEntry // sorted by path
	Removed  []string          // sorted
	Parked   []event.Parked
	Unparked []event.Parked
}

// ErrIncomplete is wrapped by errors about events that a history lacks.
var ErrIncomplete = errors.New("history is incomplete")

// Fold orders events into steps, whatever order they came in and however often: the steps
// of each codebase in the order of their numbers, codebases by id. Events that open no
// snapshot, and work events that were made again, change nothing.
func Fold(events []event.Event) ([]Step, error) {
	f := folder{steps: map[stepKey]*Step{}, seen: map[string]bool{}, cleared: map[store.CodebaseID]bool{}}
	for _, e := range events {
		if id := e.ID(); !f.seen[id] {
			f.seen[id] = true
			if err := f.add(e); err != nil {
				return nil, err
			}
		}
	}
	steps := make([]Step, 0, len(f.steps))
	for key, s := range f.steps {
		if f.cleared[key.codebase] {
			continue
		}
		if err := s.complete(); err != nil {
			return nil, err
		}
		steps = append(steps, *s)
	}
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Codebase, b.Codebase), cmp.Compare(a.Snapshot, b.Snapshot))
	})
	return steps, nil
}

type stepKey struct {
	codebase store.CodebaseID
	snapshot uint64
}

type folder struct {
	steps   map[stepKey]*Step
	seen    map[string]bool
	cleared map[store.CodebaseID]bool
}

func (f *folder) step(e event.Event) *Step {
	key := stepKey{e.Codebase, e.Snapshot}
	s := f.steps[key]
	if s == nil {
		s = &Step{Codebase: e.Codebase, Snapshot: e.Snapshot}
		f.steps[key] = s
	}
	return s
}

func (f *folder) add(e event.Event) error {
	switch e.Type {
	case event.SnapshotOpened:
		s := f.step(e)
		s.Opened, s.At = *e.Opened, e
	case event.FilesChanged:
		if e.Part >= event.PartAgain {
			return nil
		}
		s := f.step(e)
		for _, file := range e.Changed.Files {
			entry, err := file.Entry()
			if err != nil {
				return err
			}
			s.Changed = append(s.Changed, entry)
		}
	case event.FilesRemoved:
		s := f.step(e)
		for _, quoted := range e.Removed.Paths {
			path, err := merkle.UnquotePath(quoted)
			if err != nil {
				return err
			}
			s.Removed = append(s.Removed, path)
		}
	case event.FileParked:
		s := f.step(e)
		s.Parked = append(s.Parked, *e.Parked)
	case event.FileUnparked:
		s := f.step(e)
		s.Unparked = append(s.Unparked, *e.Parked)
	case event.CodebaseCleared:
		f.cleared[e.Codebase] = true
	}
	return nil
}

// complete checks that every event of the snapshot came, and sorts.
func (s *Step) complete() error {
	if s.At.Type != event.SnapshotOpened {
		return fmt.Errorf("%w: snapshot %d of %s was never opened", ErrIncomplete, s.Snapshot, s.Codebase)
	}
	if len(s.Changed) != s.Opened.Changed || len(s.Removed) != s.Opened.Removed {
		return fmt.Errorf("%w: snapshot %d of %s has %d of %d changed and %d of %d removed files", ErrIncomplete,
			s.Snapshot, s.Codebase, len(s.Changed), s.Opened.Changed, len(s.Removed), s.Opened.Removed)
	}
	slices.SortFunc(s.Changed, func(a, b store.FileEntry) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(s.Removed)
	return nil
}

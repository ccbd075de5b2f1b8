package merklesync

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// parked makes the events of what an opening does to parked files: file.unparked for those
// whose failure has them parked in the parent and does not any more, and file.parked for
// those that have a content and a version again of which a failure is known. Unless the
// recipe or the retry concerns all files, only those that the opening changes are looked at.
func (s *Synchronizer) parked(ctx context.Context, o store.Opening) ([]event.Event, error) {
	if o.Parent == 0 {
		return nil, nil
	}
	failures, err := s.store.Failures(ctx, s.id)
	if store.IsDamage(err) {
		s.opts.Log.Warn("failures are damaged, what the opening does to parked files is not published", "codebase", s.id, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	former := s.opts.Recipe
	if len(failures) > 0 && s.state.latest.Fingerprint != s.fingerprint {
		if former, err = s.store.Recipe(ctx, s.state.latest.Fingerprint); err != nil {
			return nil, fmt.Errorf("recipe of snapshot %d: %w", o.Parent, err)
		}
	}
	before, after := store.NewRule(former, nil), store.NewRule(o.Recipe, nil)
	base := event.Event{Codebase: o.Codebase, Snapshot: o.Number, Fingerprint: s.fingerprint, At: o.At}
	changed := changedBy(o)
	var events []event.Event
	for _, f := range failures {
		if !f.Parked || !o.Rebuild && !changed[f.Path] {
			continue
		}
		was, err := s.store.File(ctx, s.id, o.Parent, f.Path)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("file of snapshot %d: %w", o.Parent, err)
		}
		wasParked := err == nil && before.Parks(was, f)
		is, ok := s.state.index.File(f.Path)
		isParked := ok && !o.Retry && after.Parks(is, f)
		switch {
		case wasParked && !isParked:
			events = append(events, event.UnparkedFile(base, event.ParkedBy(f)))
		case isParked && !wasParked:
			events = append(events, event.ParkedFile(base, event.ParkedBy(f)))
		}
	}
	return events, nil
}

// changedBy returns the paths that an opening changes.
func changedBy(o store.Opening) map[string]bool {
	paths := make(map[string]bool, len(o.Upserts)+len(o.Removes))
	for _, f := range o.Upserts {
		paths[f.Path] = true
	}
	for _, path := range o.Removes {
		paths[path] = true
	}
	return paths
}

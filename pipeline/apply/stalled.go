package apply

import (
	"context"
	"errors"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// The minimum time without progress after which a snapshot is sealed at LevelText, and the
// time that is allowed for each remaining file.
const (
	minStall     = time.Second
	stallPerFile = 5 * time.Millisecond
)

// pace is the progress of the snapshot that awaits sealing.
type pace struct {
	snapshot store.Snapshot
	began    time.Time // when the sealer first heard of it
	progress time.Time // when the last of its files were finished, at first began
	left     int
	tried    bool // it was sealed at LevelText, or is not to be
}

// due is when the snapshot is to be sealed at LevelText unless some of its files are
// finished before: after as long a time without progress as the files took that are
// finished. So a file that hangs delays the others at most by the time that they took, and
// while work goes on steadily nothing is sealed twice. Many files that are left are granted
// more, because the first of them may take its time.
func (p pace) due() time.Time {
	return p.progress.Add(max(minStall, time.Duration(p.left)*stallPerFile, p.progress.Sub(p.began)))
}

// Run seals snapshots at LevelText whose work stands still, until ctx ends, and returns nil
// then: what is slow, hangs or waits for a provider delays itself, and the other files are
// searchable. It must not run where another process seals.
func (s *Sealer) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.paced:
		case <-timer.C:
		}
		id, due, ok := s.earliest()
		if !ok {
			timer.Stop()
			continue
		}
		if wait := due.Sub(s.opts.Now()); wait > 0 {
			timer.Reset(wait)
			continue
		}
		if err := s.sealStanding(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrObsolete) {
			s.opts.Log.Warn("words of a snapshot not sealed", "codebase", id, "error", err)
		}
		timer.Reset(0)
	}
}

// earliest returns the codebase whose snapshot is due first.
func (s *Sealer) earliest() (id store.CodebaseID, due time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, t := range s.tracks {
		if at, waits := t.due(); waits && (!ok || at.Before(due)) {
			id, due, ok = other, at, true
		}
	}
	return id, due, ok
}

// sealStanding seals the snapshot of a codebase at LevelText, once.
func (s *Sealer) sealStanding(ctx context.Context, id store.CodebaseID) error {
	t := s.track(id)
	t.mu.Lock()
	snapshot := t.pace.snapshot
	t.pace.tried = true
	t.mu.Unlock()
	if !t.sealing.TryLock() {
		return nil // it is being sealed
	}
	defer t.sealing.Unlock()
	snapshot, err := s.awaiting(ctx, id, snapshot.Number)
	if err != nil || snapshot.Level >= store.LevelText || !s.worthText(ctx, snapshot) {
		return err
	}
	return s.sealAt(ctx, snapshot, store.LevelText)
}

// keepPace takes note of how many files of a snapshot are left, and whether some were
// finished just now.
func (s *Sealer) keepPace(t *track, snapshot store.Snapshot, left int, progress bool) {
	if s.opts.TextThreshold < 0 {
		return
	}
	now := s.opts.Now()
	t.mu.Lock()
	p := &t.pace
	if p.snapshot.Number != snapshot.Number {
		*p = pace{snapshot: snapshot, began: now, progress: now, tried: snapshot.Level >= store.LevelText}
	}
	if progress {
		p.progress = now
	}
	p.left = left
	t.mu.Unlock()
	select {
	case s.paced <- struct{}{}:
	default:
	}
}

// due is pace.due of what the track knows; ok is false when nothing waits for it.
func (t *track) due() (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pace.left == 0 || t.pace.tried {
		return time.Time{}, false
	}
	return t.pace.due(), true
}

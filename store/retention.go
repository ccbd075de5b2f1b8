package store

import "time"

// Retention says what Collect keeps of every codebase: the current and the latest snapshot,
// the base of the latest while it is not full, the newest full one, pinned ones, the newest
// Keep, and those sealed after Since that Thin does not take away (the zero Since keeps
// none).
type Retention struct {
	Keep   int
	Since  time.Time
	Thin   []Thinning
	DryRun bool
}

// Thinning keeps of the snapshots sealed before Before only the newest of each span of time
// Every. Spans begin at multiples of Every since the zero time, so that the same one is kept
// until the whole span goes.
type Thinning struct {
	Before time.Time
	Every  time.Duration
}

// Retained says which snapshots of a codebase stay, by number. all are its snapshots, newest
// first.
func (r Retention) Retained(c Codebase, all []Snapshot) map[uint64]bool {
	keep := map[uint64]bool{c.Current: true, c.Latest: true}
	newestFull := false
	taken := map[span]bool{}
	for i, n := range all {
		if i < r.Keep || n.Pinned || r.since(n.SealedAt, taken) {
			keep[n.Number] = true
		}
		if n.Number == c.Latest && n.Level != LevelFull {
			keep[n.Base] = true
		}
		if n.Level == LevelFull && !newestFull {
			keep[n.Number], newestFull = true, true
		}
	}
	return keep
}

// span is a span of time of one thinning.
type span struct {
	every time.Duration
	start int64
}

// since reports whether a snapshot sealed at a time is kept for its age. taken are the spans
// that have their snapshot already: they are asked newest first.
func (r Retention) since(sealed time.Time, taken map[span]bool) bool {
	if r.Since.IsZero() || !sealed.After(r.Since) {
		return false
	}
	every := time.Duration(0)
	for _, t := range r.Thin {
		if sealed.Before(t.Before) {
			every = max(every, t.Every)
		}
	}
	if every == 0 {
		return true
	}
	s := span{every, sealed.Truncate(every).UnixNano()}
	if taken[s] {
		return false
	}
	taken[s] = true
	return true
}

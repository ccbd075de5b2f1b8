package merklesync

import "time"

// lull waits until a storm of changes is over, so that a checkout is one check and not a
// hundred. One goroutine uses it.
type lull struct {
	opts  Watching
	timer *time.Timer
	first time.Time // when the storm began, zero when there is none
}

func newLull(opts Watching) *lull {
	l := &lull{opts: opts.withDefaults(), timer: time.NewTimer(time.Hour)}
	l.timer.Stop()
	return l
}

// heard takes note that something changed.
func (l *lull) heard() {
	now := time.Now()
	if l.first.IsZero() {
		l.first = now
	}
	l.timer.Reset(min(l.opts.Quiet, max(0, l.opts.Longest-now.Sub(l.first))))
}

// over receives when nothing changed for a while, or changes went on for too long.
func (l *lull) over() <-chan time.Time { return l.timer.C }

// extend waits on while git is busy, within bounds, and reports whether it does. Otherwise
// the storm is over.
func (l *lull) extend(busy bool) bool {
	if busy && time.Since(l.first) < l.opts.Patience {
		l.timer.Reset(l.opts.Quiet)
		return true
	}
	l.first = time.Time{}
	return false
}

func (l *lull) stop() { l.timer.Stop() }

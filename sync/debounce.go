package merklesync

import "time"

// debouncer debounces changes: it fires after a quiet time without changes, or after the
// longest time of a burst, so that a checkout causes one check. It is used by one goroutine.
type debouncer struct {
	opts  Watching
	timer *time.Timer
	first time.Time // when the burst began, zero when there is none
}

func newDebouncer(opts Watching) *debouncer {
	d := &debouncer{opts: opts.withDefaults(), timer: time.NewTimer(time.Hour)}
	d.timer.Stop()
	return d
}

// heard records a change and restarts the quiet time.
func (d *debouncer) heard() {
	now := time.Now()
	if d.first.IsZero() {
		d.first = now
	}
	d.timer.Reset(min(d.opts.Quiet, max(0, d.opts.Longest-now.Sub(d.first))))
}

// over returns a channel that receives when the burst is over or has lasted too long.
func (d *debouncer) over() <-chan time.Time { return d.timer.C }

// extend restarts the quiet time while git is busy, at most for Patience since the first
// change, and reports whether it did. Otherwise it ends the burst.
func (d *debouncer) extend(busy bool) bool {
	if busy && time.Since(d.first) < d.opts.Patience {
		d.timer.Reset(d.opts.Quiet)
		return true
	}
	d.first = time.Time{}
	return false
}

func (d *debouncer) stop() { d.timer.Stop() }

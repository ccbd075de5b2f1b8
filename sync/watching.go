package merklesync

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
	"github.com/freshet/freshet/sync/watch"
)

// Watching configures a watcher for a synchronizer that lives long enough to be worth it:
// setting one up costs about a third of a stat proof. While none is live every check is a
// stat proof of the whole tree.
type Watching struct {
	// Dir is where watchers keep their cookies, outside the tree; "" means no watcher.
	Dir string
	// MaxWatches bounds the directories watched; 0 leaves it to the kernel.
	MaxWatches int
	// Poll is the least time between stat proofs that look for changes while no watcher is
	// live; 0 means 5 s. It grows with what a proof takes.
	Poll time.Duration
	// Retry is the time before a broken watcher is replaced for the first time; 0 means 1 s.
	Retry time.Duration
	// Quiet is how long nothing must change before changes are indexed unasked, and Longest
	// how long that may be put off; 0 means 75 ms and 1 s. Patience is how long it is put
	// off because git holds a lock; 0 means 10 s.
	Quiet, Longest, Patience time.Duration
}

func (w Watching) enabled() bool { return w.Dir != "" }

func (w Watching) withDefaults() Watching {
	for _, d := range []struct {
		value *time.Duration
		unset time.Duration
	}{
		{&w.Poll, 5 * time.Second}, {&w.Retry, time.Second},
		{&w.Quiet, 75 * time.Millisecond}, {&w.Longest, time.Second}, {&w.Patience, 10 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.unset
		}
	}
	return w
}

// WatchState is how far a watcher vouches for the tree.
type WatchState string

// The states of a watcher.
const (
	WatchOff      WatchState = "off"      // none is wanted, or the file system is unproven
	WatchStarting WatchState = "starting" // watches are being added
	WatchLive     WatchState = "live"     // checks cost what changed
	WatchDegraded WatchState = "degraded" // it broke; every check is a stat proof
)

// WatchStatus is what is known of a watcher.
type WatchStatus struct {
	State WatchState
	// Reason says why it is off or degraded.
	Reason string
	// Watches is the number of directories watched.
	Watches int
	// Since is when the state was reached.
	Since time.Time
	// Missed counts changes that audits found and the watcher had not heard of.
	Missed int
}

// The pauses before a watcher is tried again: after a limit, which an operator may raise,
// and at most after anything else.
const (
	limitPause = 5 * time.Minute
	mostPause  = 5 * time.Minute
	// steadyAfter is how long a watcher must have been live for its breaking to be the first.
	steadyAfter = time.Minute
	// pollShare is how many times longer than a proof the pause between proofs is.
	pollShare = 20
)

// watching is the watcher of a synchronizer with its state.
type watching struct {
	opts Watching
	now  func() time.Time
	log  *slog.Logger

	watcher *watch.Watcher
	ended   func() // stops the watcher and waits for its end
	live    bool
	again   bool // the last scan does not prove anything yet
	retryAt time.Time
	broken  int // times in a row
	took    time.Duration

	mu     *sync.Mutex // guards status and its watcher's pointer for other goroutines
	status *WatchStatus
	shown  *watch.Watcher
}

func newWatching(opts Options) watching {
	return watching{
		opts: opts.Watching.withDefaults(), now: opts.Now, log: opts.Log,
		mu: &sync.Mutex{}, status: &WatchStatus{State: WatchOff, Since: opts.Now()},
	}
}

// Watch says how the watcher does. It may be called from any goroutine.
func (s *Synchronizer) Watch() WatchStatus {
	w := &s.watching
	w.mu.Lock()
	defer w.mu.Unlock()
	status := *w.status
	if w.shown != nil {
		status.Watches = w.shown.Watches()
	}
	return status
}

func (w *watching) show(state WatchState, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = w.watcher
	if w.status.State != state || w.status.Reason != reason {
		w.status.State, w.status.Reason, w.status.Since = state, reason, w.now().UTC()
	}
}

// pass is one scan as far as the watcher goes.
type pass struct {
	part  scan.Part
	heard scan.Dirty // of a live watcher
	whole bool
	began time.Time
}

// begin says what the next scan must look at.
func (w *watching) begin(ctx context.Context, root string, whole bool) pass {
	p := pass{whole: whole, began: w.now()}
	w.again = false
	if w.watcher == nil && !w.start(ctx, root) {
		return p
	}
	p.part.Follower = w.watcher
	if !w.live {
		return p
	}
	var err error
	if p.heard, err = w.watcher.Prove(); err != nil {
		w.fail(err)
		return pass{whole: whole, began: p.began}
	}
	if !whole {
		p.part.Dirty = &p.heard
	}
	return p
}

// end takes note of a scan that succeeded.
func (w *watching) end(p pass, result *scan.Result) {
	if p.part.Dirty == nil {
		w.took = w.now().Sub(p.began)
	}
	if p.part.Follower == nil || w.watcher == nil {
		return
	}
	if err := w.watcher.Err(); err != nil {
		w.fail(err)
		return
	}
	w.watcher.Forget(left(result)...)
	for _, kept := range result.Kept {
		w.watcher.Doubt(kept.Path)
	}
	for _, name := range w.watcher.Siblings(result.Index) {
		w.watcher.Doubt(name)
		w.again = true
	}
	switch {
	case !w.live:
		w.live = true
		w.show(WatchLive, "")
		w.log.Info("tree is watched", "directories", w.watcher.Watches())
	case p.whole:
		w.audit(p, result)
	}
}

// left lists the paths that are no longer entered.
func left(result *scan.Result) []string {
	paths := result.StatRemoves
	for i := range result.Stats {
		if e := &result.Stats[i]; e.Dir && e.LeftOut == store.LeftOutIgnored {
			paths = append(paths[:len(paths):len(paths)], e.Path)
		}
	}
	return paths
}

// audit counts the changes that a scan of the whole found and that were not heard of.
func (w *watching) audit(p pass, result *scan.Result) {
	var missed []string
	for _, c := range result.Changed {
		if !p.heard.Covers(c.Path) {
			missed = append(missed, c.Path)
		}
	}
	if len(missed) == 0 {
		return
	}
	missed, err := w.watcher.Unheard(missed) // less those made while the scan ran
	if err != nil {
		w.fail(err)
		return
	}
	for _, path := range missed {
		w.log.Warn("the watcher missed a change", "path", merkle.QuotePath(path))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Missed += len(missed)
}

// doubt makes the next scan one of the whole tree.
func (w *watching) doubt() {
	if w.watcher != nil {
		w.watcher.Doubt()
	}
}

// start opens a watcher when one is wanted and it is time, and reports whether it did.
func (w *watching) start(ctx context.Context, root string) bool {
	if !w.opts.enabled() || w.now().Before(w.retryAt) {
		return false
	}
	if strings.HasPrefix(w.opts.Dir+"/", root+"/") {
		w.retryAt = w.now().Add(mostPause)
		w.show(WatchOff, "the data directory lies inside the tree")
		return false
	}
	watcher, err := watch.Open(root, watch.Options{Dir: w.opts.Dir, MaxWatches: w.opts.MaxWatches})
	if err != nil {
		w.fail(err)
		return false
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = watcher.Run(ctx) }) // why it ended is in Err
	w.watcher, w.live = watcher, false
	w.ended = func() {
		stop()
		running.Wait()
		if err := watcher.Close(); err != nil {
			w.log.Warn("watcher not closed", "error", err)
		}
	}
	w.show(WatchStarting, "")
	return true
}

// fail gives up a broken watcher and says when the next may be tried.
func (w *watching) fail(err error) {
	if w.live && w.now().Sub(w.status.Since) > steadyAfter {
		w.broken = 0
	}
	pause := min(w.opts.Retry<<min(w.broken, 16), mostPause)
	if errors.Is(err, watch.ErrLimit) || errors.Is(err, watch.ErrUnproven) {
		pause = limitPause
	}
	w.broken++
	w.drop()
	w.retryAt = w.now().Add(pause)
	state := WatchDegraded
	if errors.Is(err, watch.ErrUnproven) {
		state = WatchOff
	}
	w.show(state, err.Error())
	w.log.Warn("tree is not watched; every check is a stat proof", "error", err, "retry", pause)
}

// renew gives up the watcher of a root that was replaced; the next scan starts another.
func (w *watching) renew() {
	w.drop()
	w.retryAt = time.Time{}
}

// close gives up the watcher for good. It may be called twice.
func (w *watching) close() {
	w.drop()
	w.show(WatchOff, "")
}

func (w *watching) drop() {
	if w.watcher != nil {
		w.ended()
		w.watcher, w.ended, w.live = nil, nil, false
	}
}

// heard receives when the watcher heard of something or broke.
func (w *watching) heard() <-chan struct{} {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Changed()
}

// poll receives when it is time for a stat proof because no watcher is live.
func (w *watching) poll() <-chan time.Time {
	if !w.opts.enabled() || w.live {
		return nil
	}
	pause := max(w.opts.Poll, pollShare*w.took)
	if !w.retryAt.IsZero() {
		pause = min(pause, max(0, w.retryAt.Sub(w.now())))
	}
	return time.After(pause)
}

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/tenure"
	merklesync "github.com/freshet/freshet/sync"
)

// tenant follows a codebase among other processes that may: while it has the lease, by a
// synchronizer of its own, which answers the others too; else by asking who has it.
type tenant struct {
	host *Host
	id   store.CodebaseID
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex // guards all below
	sync    *merklesync.Synchronizer
	waiting bool          // another has the lease, or this host does not see the tree
	changed chan struct{} // closed when one of the above changes
}

// run keeps the lease of the codebase until ctx ends, and returns nil then. A host that does
// not see the tree does not try.
func (t *tenant) run(ctx context.Context) error {
	if !t.sees(ctx) {
		t.become(nil, true)
		<-ctx.Done()
		return nil
	}
	return tenure.Keep(ctx, t.host.store, tenure.Options{
		Name: store.SyncLease(t.id), Holder: t.host.holder, Log: t.host.opts.Log,
		Linger: true, // what the tree is can be told without the store
		OnHeld: func(store.Lease) { t.become(nil, true) },
	}, t.synchronize)
}

// sees reports whether this host sees the tree. It asks until the store answers or ctx ends.
func (t *tenant) sees(ctx context.Context) bool {
	for {
		codebase, err := t.host.store.Codebase(ctx, t.id)
		if err == nil {
			return t.host.here(codebase)
		}
		t.become(nil, true)
		pause := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			pause.Stop()
			return false
		case <-pause.C:
		}
	}
}

// synchronize runs a synchronizer while this process has the lease.
func (t *tenant) synchronize(ctx context.Context) error {
	s := t.host.synchronizer(t.id)
	t.become(s, false)
	defer t.become(nil, false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(func() error { return t.host.bus.Serve(ctx, t.id, answerer{t.host, t.id, s}.answer) })
	return g.Wait()
}

func (t *tenant) become(s *merklesync.Synchronizer, waiting bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sync == s && t.waiting == waiting {
		return
	}
	t.sync, t.waiting = s, waiting
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *tenant) current() (s *merklesync.Synchronizer, waiting bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sync, t.waiting, t.changed
}

// leastPatience is how long who sees a tree may take to look at it, at least.
const leastPatience = 2 * time.Second

// patience bounds a look at a tree by another process. One of this process ends by itself.
func patience(ctx context.Context, l looker, wait time.Duration) (context.Context, context.CancelFunc) {
	t, ok := l.(*tenant)
	if !ok {
		return context.WithCancel(ctx)
	}
	wait = max(wait, leastPatience)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s, waiting, changed := t.current()
		switch {
		case s != nil:
			return context.WithCancel(ctx)
		case waiting:
			return context.WithTimeout(ctx, wait)
		}
		select {
		case <-changed:
		case <-timer.C:
			return context.WithTimeout(ctx, 0)
		case <-ctx.Done():
			return context.WithCancel(ctx)
		}
	}
}

// Check has the tree checked by whoever sees it.
func (t *tenant) Check(ctx context.Context) (merklesync.Observation, error) {
	return t.look(ctx, askCheck, (*merklesync.Synchronizer).Check)
}

// Rebuild has every file made work by whoever sees the tree.
func (t *tenant) Rebuild(ctx context.Context) (merklesync.Observation, error) {
	return t.look(ctx, askRebuild, (*merklesync.Synchronizer).Rebuild)
}

// askAgain is the pause before somebody is asked again whose lease may be ending, and
// askFirst how long the first answer is waited for: a question may have gone to a process
// that is stopped, whose place another takes. Each further one is waited for twice as long.
const (
	askAgain = 200 * time.Millisecond
	askFirst = 2 * time.Second
)

// look has the synchronizer look that there is, here or elsewhere, until ctx ends: while a
// lease passes from one process to another nobody answers.
func (t *tenant) look(ctx context.Context, what ask, here func(*merklesync.Synchronizer, context.Context) (merklesync.Observation, error)) (merklesync.Observation, error) {
	var silence error
	for wait := askFirst; ; {
		s, waiting, changed := t.current()
		switch {
		case s != nil:
			seen, err := here(s, ctx)
			if !errors.Is(err, merklesync.ErrEnded) {
				return seen, err
			}
		case waiting:
			asking, cancel := context.WithTimeout(ctx, wait)
			seen, err := t.ask(asking, what)
			cancel()
			if !errors.Is(err, natsbus.ErrNoAnswer) {
				return seen, err
			}
			silence, wait = err, 2*wait
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			pause.Stop()
			if silence == nil {
				silence = natsbus.ErrNoAnswer
			}
			return merklesync.Observation{}, fmt.Errorf("the synchronizer of this codebase is silent: %w", silence)
		case <-t.done:
			pause.Stop()
			return merklesync.Observation{}, merklesync.ErrEnded
		case <-changed:
			pause.Stop()
		case <-pause.C:
		}
	}
}

func (t *tenant) sealed(snapshot store.Snapshot) {
	if s, _, _ := t.current(); s != nil {
		s.Sealed(snapshot)
	}
}

func (t *tenant) watch() merklesync.WatchStatus {
	if s, _, _ := t.current(); s != nil {
		return s.Watch()
	}
	return merklesync.WatchStatus{State: merklesync.WatchOff, Reason: "another process follows this codebase"}
}

func (t *tenant) end() {
	t.stop()
	<-t.done
}

package freshness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/leasekeeper"
	merklesync "github.com/freshet/freshet/sync"
)

// Sharing is what following takes where other processes share log and store. All of it is
// required.
type Sharing struct {
	// Leases hands out the lease under which one process synchronizes a codebase, and Holder
	// names this process in it.
	Leases leasekeeper.Leaser
	Holder string
	// Here reports whether this process sees the tree of a codebase.
	Here func(ctx context.Context, id store.CodebaseID) (bool, error)
	// Peers carries questions to the process that synchronizes a codebase.
	Peers Peers
	// Files answers the questions that are about single files of a codebase.
	Files func(ctx context.Context, id store.CodebaseID, request []byte) ([]byte, error)
	// EncodeFault gives an error of a look at a tree the form in which another process is
	// told it, nil for one that has none; DecodeFault reads it there.
	EncodeFault func(id store.CodebaseID, err error) json.RawMessage
	DecodeFault func(fault json.RawMessage) error
	Log         *slog.Logger
}

// leased is the synchronizer of a codebase among other processes that may synchronize it:
// while this process has the lease, one of its own, which answers the others too; else it
// asks the process that has the lease.
type leased struct {
	*Sharing
	id   store.CodebaseID
	make func() *merklesync.Synchronizer
	done <-chan struct{} // closed when Run has returned

	mu      sync.Mutex // guards all below
	own     *merklesync.Synchronizer
	waiting bool          // another has the lease, or this process does not see the tree
	changed chan struct{} // closed when one of the above changes
}

// Run keeps the lease of the codebase until ctx ends, and returns nil then. A process that
// does not see the tree does not try.
func (l *leased) Run(ctx context.Context) error {
	if !l.sees(ctx) {
		l.become(nil, true)
		<-ctx.Done()
		return nil
	}
	return leasekeeper.Keep(ctx, l.Leases, leasekeeper.Options{
		Name: store.SyncLease(l.id), Holder: l.Holder, Log: l.Log,
		Linger: true, // what the tree is can be told without the store
		OnHeld: func(store.Lease) { l.become(nil, true) },
	}, l.synchronize)
}

// sees reports whether this process sees the tree. It asks until the store answers or ctx
// ends.
func (l *leased) sees(ctx context.Context) bool {
	for {
		here, err := l.Here(ctx, l.id)
		if err == nil {
			return here
		}
		l.become(nil, true)
		if bus.Pause(ctx, askAgain) != nil {
			return false
		}
	}
}

// synchronize runs a synchronizer while this process has the lease.
func (l *leased) synchronize(ctx context.Context) error {
	s := l.make()
	l.become(s, false)
	defer l.become(nil, false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(func() error {
		return l.Peers.Serve(ctx, l.id, func(ctx context.Context, request []byte) ([]byte, error) {
			return l.answer(ctx, s, request)
		})
	})
	return g.Wait()
}

func (l *leased) become(s *merklesync.Synchronizer, waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == s && l.waiting == waiting {
		return
	}
	l.own, l.waiting = s, waiting
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *leased) current() (s *merklesync.Synchronizer, waiting bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own, l.waiting, l.changed
}

// Check has the tree checked by whoever sees it.
func (l *leased) Check(ctx context.Context) (merklesync.Observation, error) {
	return l.look(ctx, askCheck, (*merklesync.Synchronizer).Check)
}

// Rebuild has every file made work by whoever sees the tree.
func (l *leased) Rebuild(ctx context.Context) (merklesync.Observation, error) {
	return l.look(ctx, askRebuild, (*merklesync.Synchronizer).Rebuild)
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
func (l *leased) look(ctx context.Context, what ask, here func(*merklesync.Synchronizer, context.Context) (merklesync.Observation, error)) (merklesync.Observation, error) {
	var silence error
	for wait := askFirst; ; {
		s, waiting, changed := l.current()
		switch {
		case s != nil:
			seen, err := here(s, ctx)
			if !errors.Is(err, merklesync.ErrEnded) {
				return seen, err
			}
		case waiting:
			asking, cancel := context.WithTimeout(ctx, wait)
			seen, err := l.ask(asking, what)
			cancel()
			if !errors.Is(err, bus.ErrNoAnswer) {
				return seen, err
			}
			silence, wait = err, 2*wait
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			pause.Stop()
			if silence == nil {
				silence = bus.ErrNoAnswer
			}
			return merklesync.Observation{}, fmt.Errorf("the synchronizer of this codebase is silent: %w", silence)
		case <-l.done:
			pause.Stop()
			return merklesync.Observation{}, merklesync.ErrEnded
		case <-changed:
			pause.Stop()
		case <-pause.C:
		}
	}
}

// Sealed tells the own synchronizer of a seal.
func (l *leased) Sealed(snapshot store.Snapshot) {
	if s, _, _ := l.current(); s != nil {
		s.Sealed(snapshot)
	}
}

// Watch reports on the own synchronizer's watcher.
func (l *leased) Watch() merklesync.WatchStatus {
	if s, _, _ := l.current(); s != nil {
		return s.Watch()
	}
	return merklesync.WatchStatus{State: merklesync.WatchOff, Reason: "another process follows this codebase"}
}

// leastPatience is how long who sees a tree may take to look at it, at least.
const leastPatience = 2 * time.Second

// patience bounds a look at a tree by another process. One of this process ends by itself.
func patience(ctx context.Context, of Synchronizer, wait time.Duration) (context.Context, context.CancelFunc) {
	l, ok := of.(*leased)
	if !ok {
		return context.WithCancel(ctx)
	}
	wait = max(wait, leastPatience)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s, waiting, changed := l.current()
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

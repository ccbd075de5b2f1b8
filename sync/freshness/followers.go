package freshness

import (
	"context"
	"errors"
	"sync"

	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
)

// Synchronizer finds out what the tree of a codebase is, in this process or in another one;
// see merklesync.Synchronizer.
type Synchronizer interface {
	Check(ctx context.Context) (merklesync.Observation, error)
	Rebuild(ctx context.Context) (merklesync.Observation, error)
}

// follower is a Synchronizer that runs until ctx ends.
type follower interface {
	Synchronizer
	Run(ctx context.Context) error
	// Sealed is told of every seal of the codebase.
	Sealed(snapshot store.Snapshot)
	Watch() merklesync.WatchStatus
}

// FollowerOptions are those of Followers. Make and Go are required.
type FollowerOptions struct {
	// Make makes the synchronizer of a codebase. It calls replaced when another directory
	// stands at the root and is taken for the codebase's.
	Make func(id store.CodebaseID, replaced func()) *merklesync.Synchronizer
	// Go runs a function in a goroutine of the process's work, with the context of that.
	Go func(fn func(ctx context.Context) error)
	// Sharing is set where other processes share log and store: a codebase is followed by the
	// one that holds its lease. nil means that this process is alone.
	Sharing *Sharing
}

// Followers run one synchronizer for each codebase that somebody asked for. All methods may
// be called from several goroutines.
type Followers struct {
	opts FollowerOptions

	mu       sync.Mutex // guards what follows
	running  map[store.CodebaseID]*running
	replaced map[store.CodebaseID]bool // roots found replaced that no answer has told yet
	closed   bool
}

// running is a follower with its end.
type running struct {
	follower
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
}

// NewFollowers returns followers that follow nothing yet.
func NewFollowers(o FollowerOptions) *Followers {
	return &Followers{opts: o, running: map[store.CodebaseID]*running{}, replaced: map[store.CodebaseID]bool{}}
}

// errClosed is returned by Follow after Close.
var errClosed = errors.New("the host is ending")

// Close refuses what is not followed yet. What is followed ends with the process's work.
func (f *Followers) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// Follow returns the synchronizer of a codebase, starting it on first use.
func (f *Followers) Follow(id store.CodebaseID) (Synchronizer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	if r := f.running[id]; r != nil {
		return r.follower, nil
	}
	stopping, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, done: make(chan struct{})}
	r.follower = f.make(id, r.done)
	f.running[id] = r
	f.opts.Go(func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(stopping, cancel)()
		defer cancel()
		defer close(r.done)
		return r.Run(ctx)
	})
	return r.follower, nil
}

// make makes the follower of a codebase, which has ended when done is closed.
func (f *Followers) make(id store.CodebaseID, done <-chan struct{}) follower {
	own := func() *merklesync.Synchronizer { return f.opts.Make(id, func() { f.noteReplaced(id) }) }
	if f.opts.Sharing == nil {
		return own()
	}
	return &leased{Sharing: f.opts.Sharing, id: id, make: own, done: done, changed: make(chan struct{})}
}

// Unfollow stops the synchronizer of a codebase and waits for its end.
func (f *Followers) Unfollow(id store.CodebaseID) {
	f.mu.Lock()
	r := f.running[id]
	delete(f.running, id)
	f.mu.Unlock()
	if r != nil {
		r.stop()
		<-r.done
	}
}

// Sealed is told of every seal.
func (f *Followers) Sealed(snapshot store.Snapshot) {
	f.mu.Lock()
	r := f.running[snapshot.Codebase]
	f.mu.Unlock()
	if r != nil {
		r.Sealed(snapshot)
	}
}

// Watch reports on the watcher of a codebase; ok is false when the codebase is not followed.
func (f *Followers) Watch(id store.CodebaseID) (status merklesync.WatchStatus, ok bool) {
	f.mu.Lock()
	r := f.running[id]
	f.mu.Unlock()
	if r == nil {
		return merklesync.WatchStatus{State: merklesync.WatchOff}, false
	}
	return r.Watch(), true
}

// noteReplaced keeps that another directory stands at a codebase's root until an answer
// tells it.
func (f *Followers) noteReplaced(id store.CodebaseID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replaced[id] = true
}

// takeReplaced reports, once, whether another directory stands at a codebase's root.
func (f *Followers) takeReplaced(id store.CodebaseID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.replaced[id]
	delete(f.replaced, id)
	return was
}

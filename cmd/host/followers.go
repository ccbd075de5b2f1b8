package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
)

// looker finds out what the tree of a codebase is; see merklesync.Synchronizer.
type looker interface {
	Check(ctx context.Context) (merklesync.Observation, error)
	Rebuild(ctx context.Context) (merklesync.Observation, error)
}

// follower is a looker that runs.
type follower interface {
	looker
	// sealed is told of every seal of the codebase.
	sealed(snapshot store.Snapshot)
	watch() merklesync.WatchStatus
	// end stops it and waits for its end.
	end()
}

// own is a synchronizer of this process.
type own struct {
	*merklesync.Synchronizer
	stop context.CancelFunc
	done chan struct{}
}

func (o *own) sealed(snapshot store.Snapshot) { o.Sealed(snapshot) }
func (o *own) watch() merklesync.WatchStatus  { return o.Watch() }

func (o *own) end() {
	o.stop()
	<-o.done
}

// audit is the time between checks of a followed codebase that nobody asked for.
const audit = time.Minute

var errClosing = errors.New("the host is ending")

// follow returns what looks at the tree of a codebase, starting it on first use.
func (h *Host) follow(id store.CodebaseID) (looker, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosing
	}
	if f := h.followers[id]; f != nil {
		return f, nil
	}
	ctx, stop := context.WithCancel(h.workCtx)
	done := make(chan struct{})
	var f follower
	var run func(ctx context.Context) error
	if h.shared() {
		t := &tenant{host: h, id: id, stop: stop, done: done, changed: make(chan struct{})}
		f, run = t, t.run
	} else {
		o := &own{Synchronizer: h.synchronizer(id), stop: stop, done: done}
		f, run = o, o.Run
	}
	h.followers[id] = f
	h.work.Go(func() error {
		defer close(done)
		return run(ctx)
	})
	return f, nil
}

func (h *Host) synchronizer(id store.CodebaseID) *merklesync.Synchronizer {
	return merklesync.New(h.store, id, merklesync.Options{
		Outbox: announcer{h}, Recipe: h.recipe, Observer: h.ops, Audit: audit, Watching: h.watching(),
		OnReplaced: func() { h.noteReplaced(id) },
		Scan:       datadir.ScanOptions(h.opts.Home, h.opts.Log), Now: h.opts.Now, Log: h.opts.Log,
	})
}

// noteReplaced keeps that another directory stands at a codebase's root until an answer
// tells it.
func (h *Host) noteReplaced(id store.CodebaseID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replaced[id] = true
}

// noticed returns what a codebase's next answer has to tell, once.
func (h *Host) noticed(id store.CodebaseID) []search.Warning {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.replaced[id] {
		return nil
	}
	delete(h.replaced, id)
	return []search.Warning{{Code: "root_replaced", Message: "another directory stands at the root since the last check; " +
		"it was taken for the codebase's, and every file of it was read"}}
}

// unfollow stops the synchronizer of a codebase and waits for its end.
func (h *Host) unfollow(id store.CodebaseID) {
	h.mu.Lock()
	f := h.followers[id]
	delete(h.followers, id)
	h.mu.Unlock()
	if f != nil {
		f.end()
	}
}

// settle waits until the current snapshot of a codebase is sealed full with the tree that
// a check saw, checking again when more changed meanwhile, and returns what the last check
// saw. Damage that a worker meets meanwhile ends it: no seal comes of waiting for that.
func (h *Host) settle(ctx context.Context, id store.CodebaseID, sync looker, seen merklesync.Observation) (merklesync.Observation, error) {
	met := h.damageMet()
	for {
		changed := h.hub.changed(id)
		codebase, err := h.store.Codebase(ctx, id)
		if err != nil {
			return seen, fmt.Errorf("settle %s: %w", id, err)
		}
		latest, err := h.store.Snapshot(ctx, id, codebase.Latest)
		if err != nil {
			return seen, fmt.Errorf("settle %s: %w", id, err)
		}
		if latest.Abandoned {
			return seen, context.Canceled
		}
		if latest.Level == store.LevelFull {
			if latest.Root == seen.Root {
				return seen, nil
			}
			if seen, err = sync.Check(ctx); err != nil {
				return seen, err
			}
			continue
		}
		if now := h.damageMet(); now.count != met.count {
			return seen, advice.Damage(id, now.err)
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-changed:
		}
	}
}

// announcer flushes the outbox for a synchronizer. Events that could not be published are
// published later; what kept them is noted with the operations that wait for them.
type announcer struct{ *Host }

// Flush publishes what the outbox holds.
func (a announcer) Flush(ctx context.Context) error {
	err := a.pipeline.Outbox.Flush(ctx)
	if err != nil && ctx.Err() == nil {
		a.trouble(err)
	}
	return err
}

// trouble notes an error of the chain with the operations that run.
func (h *Host) trouble(err error) {
	if advice.IsDamage(err) {
		h.mu.Lock()
		h.met = damageMet{h.met.count + 1, err}
		h.mu.Unlock()
		h.hub.nudge()
	}
	h.ops.trouble(datadir.AdviseRoom(h.opts.Home, err))
}

// damageMet is the damage that a worker met last, and how often one did.
type damageMet struct {
	count int
	err   error
}

func (h *Host) damageMet() damageMet {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.met
}

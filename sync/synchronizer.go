package merklesync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Announcer publishes events that were committed to the outbox; outbox.Pump is one.
type Announcer interface {
	Flush(ctx context.Context) error
}

// Observer is told how a check goes. It must not block.
type Observer interface {
	// Scanned reports a finished scan: what it saw, and how many files differ from the
	// newest snapshot.
	Scanned(id store.CodebaseID, result scan.Summary, changed int)
	// Opened reports a snapshot that now awaits sealing, with the files that are its work.
	Opened(snapshot store.Snapshot, files int)
}

// Options are what a Synchronizer needs beside the store.
type Options struct {
	Outbox   Announcer
	Recipe   store.Recipe
	Scan     scan.Options
	Observer Observer
	// OnReplaced, when set, is told that another directory was found at the root and taken
	// for the codebase's. It must not block.
	OnReplaced func()
	// Audit is the time between checks that nobody asked for; 0 means never.
	Audit time.Duration
	// Watching lets checks of an unchanged tree do without a walk; the zero value does not.
	Watching Watching
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means discard
}

// Synchronizer follows one codebase. Run must run for Check to be answered.
type Synchronizer struct {
	store       store.Store
	opts        Options
	id          store.CodebaseID
	fingerprint store.Fingerprint
	wake        chan struct{} // capacity 1

	mu      sync.Mutex // guards next, sealed, rebuild, ended
	next    *round     // the check that has not begun yet
	sealed  []store.Snapshot
	rebuild bool
	ended   bool

	failure  string   // of the last check that nobody asked for; owned by Run
	state    state    // owned by Run
	watching watching // but for its status, owned by Run

	publishing publishing
}

// round is one check that any number of callers share.
type round struct {
	done        chan struct{}
	observation Observation
	err         error
}

// Observation is what a check proved: at some moment after ScannedAt the tree had Root.
type Observation struct {
	Root      merkle.Hash
	ScannedAt time.Time
	Took      time.Duration
	// Snapshot is the number of the newest snapshot. When Gathered is false it has Root.
	Snapshot uint64
	// Gathered is set when the tree differs from the newest snapshot, which awaits sealing.
	Gathered bool
	// Changes are the differences between the tree and the newest sealed full snapshot
	// that this synchronizer has seen, at most MaxNamed of ChangeCount.
	Changes     []string
	ChangeCount int
	// Kept are files of the tree that could not be read, or never stood still, and count as
	// they were last read: their bytes now are unknown. At most MaxNamed of KeptCount.
	Kept      []string
	KeptCount int
	Summary   scan.Summary
}

// MaxNamed is the most paths that an observation names.
const MaxNamed = 20

// ErrEnded is returned by Check when the synchronizer does not run any more.
var ErrEnded = errors.New("synchronizer has ended")

// New returns a synchronizer of a registered codebase.
func New(s store.Store, id store.CodebaseID, opts Options) *Synchronizer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Synchronizer{
		store: s, opts: opts, id: id, fingerprint: opts.Recipe.Fingerprint(),
		wake: make(chan struct{}, 1), watching: newWatching(opts),
		publishing: publishing{flush: func(ctx context.Context) {
			if err := opts.Outbox.Flush(ctx); err != nil && ctx.Err() == nil {
				// The events are committed: whoever flushes next publishes them.
				opts.Log.Warn("publish failed, tried again later", "codebase", id, "error", err)
			}
		}},
	}
}

// Check finds out what the tree is, opens a snapshot for what changed, and returns what it proved.
// Callers share a check, but only one that began after they called. The error speaks of the
// scan or of the store; the index is as it was then.
func (s *Synchronizer) Check(ctx context.Context) (Observation, error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return Observation{}, ErrEnded
	}
	if s.next == nil {
		s.next = &round{done: make(chan struct{})}
	}
	r := s.next
	s.mu.Unlock()
	s.nudge()
	select {
	case <-r.done:
		return r.observation, r.err
	case <-ctx.Done():
		return Observation{}, ctx.Err()
	}
}

// Rebuild makes the next check open a snapshot whose every file is work, whether or not
// the tree changed; a snapshot that awaits sealing is given up for it, and parked files are
// tried again.
func (s *Synchronizer) Rebuild(ctx context.Context) (Observation, error) {
	s.mu.Lock()
	s.rebuild = true
	s.mu.Unlock()
	return s.Check(ctx)
}

// Sealed tells the synchronizer of a seal, so that gathered changes are opened at once. It
// does not block.
func (s *Synchronizer) Sealed(snapshot store.Snapshot) {
	s.mu.Lock()
	s.sealed = append(s.sealed, snapshot)
	s.mu.Unlock()
	s.nudge()
}

func (s *Synchronizer) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run serves checks until ctx ends, and returns nil then.
func (s *Synchronizer) Run(ctx context.Context) error {
	defer s.publishing.running.Wait()
	defer s.end()
	defer s.watching.close()
	var audit <-chan time.Time
	if s.opts.Audit > 0 {
		ticker := time.NewTicker(s.opts.Audit)
		defer ticker.Stop()
		audit = ticker.C
	}
	if s.watching.opts.enabled() {
		s.serve(ctx, forChanges)
	}
	debounced := newDebouncer(s.opts.Watching)
	defer debounced.stop()
	for {
		poll := s.watching.poll()
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
			s.serve(ctx, forCallers)
		case <-audit:
			s.serve(ctx, forAudit)
		case <-poll:
			s.serve(ctx, forChanges)
		case <-s.watching.heard():
			debounced.heard()
		case <-debounced.over():
			if !debounced.extend(scan.Busy(s.state.codebase.Root)) {
				s.serve(ctx, forChanges)
			}
		}
	}
}

// cause is why Run has work.
type cause int

const (
	forCallers cause = iota // some wait for a check, or a snapshot was sealed
	forChanges              // something was heard of, or may be found by looking
	forAudit                // the whole tree is looked at, whatever was heard
)

// end refuses those who wait and those who come later.
func (s *Synchronizer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.next != nil {
		s.next.err = ErrEnded
		close(s.next.done)
		s.next = nil
	}
}

// serve does what is waiting: seals first, then the check that callers wait for.
func (s *Synchronizer) serve(ctx context.Context, why cause) {
	s.mu.Lock()
	sealed, r, rebuild := s.sealed, s.next, s.rebuild
	s.sealed, s.next = nil, nil
	if r != nil || why != forCallers {
		s.rebuild = false
	}
	s.mu.Unlock()
	for _, snapshot := range sealed {
		s.state.sealed(snapshot)
	}
	if r == nil && why == forCallers {
		if err := s.advance(ctx, false); err != nil && ctx.Err() == nil {
			s.opts.Log.Error("gathered changes not opened", "codebase", s.id, "error", err)
		}
		return
	}
	observation, err := s.check(ctx, rebuild, why == forAudit)
	if err != nil && rebuild {
		s.mu.Lock()
		s.rebuild = true
		s.mu.Unlock()
	}
	if r == nil {
		s.complain(ctx, err)
		return
	}
	r.observation, r.err = observation, err
	close(r.done)
}

// complain logs why a check that nobody asked for failed, once for each reason.
func (s *Synchronizer) complain(ctx context.Context, err error) {
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != s.failure && ctx.Err() == nil {
		s.opts.Log.Warn("unasked check failed", "codebase", s.id, "error", err)
	}
	s.failure = failure
}

func (s *Synchronizer) check(ctx context.Context, rebuild, whole bool) (Observation, error) {
	if err := s.load(ctx); err != nil {
		return Observation{}, fmt.Errorf("load %s: %w", s.id, err)
	}
	started := s.opts.Now()
	for again := false; ; again = true {
		summary, err := s.scanSteady(ctx, whole)
		if err != nil {
			return Observation{}, fmt.Errorf("scan %s: %w", merkle.QuotePath(s.state.codebase.Root), err)
		}
		err = s.advance(ctx, rebuild)
		if errors.Is(err, store.ErrIncomplete) && !again {
			// Contents of gathered changes were collected meanwhile: read the files again.
			if err = s.forget(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return Observation{}, fmt.Errorf("open snapshot of %s: %w", s.id, err)
		}
		return s.observe(started, summary), nil
	}
}

func (s *Synchronizer) observe(started time.Time, summary scan.Summary) Observation {
	o := Observation{
		Root: s.state.observed.Root(), ScannedAt: started, Took: s.opts.Now().Sub(started),
		Snapshot: s.state.latest.Number, Summary: summary,
	}
	o.Gathered = o.Snapshot == 0 || s.state.latest.Root != o.Root
	changes, count := s.state.pending.between(s.state.full, s.state.observed)
	o.Changes, o.ChangeCount = slices.Clone(changes), count
	o.Kept, o.KeptCount = slices.Clone(s.state.kept[:min(len(s.state.kept), MaxNamed)]), len(s.state.kept)
	return o
}

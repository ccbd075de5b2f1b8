package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Announcer publishes events that were committed to the outbox; outbox.Pump is one.
type Announcer interface {
	Flush(ctx context.Context) error
}

// Options are what a Sealer needs beside the store.
type Options struct {
	Outbox Announcer
	Recipe store.Recipe
	// Paths gives the vector of a path's words; nil when the provider is remote.
	Paths embedding.PathEmbedder
	// Fallback cuts a content by lines, for files without syntax.
	Fallback func(content []byte) store.Syntax
	// TextThreshold is how many files must be pending for a snapshot to be sealed at
	// LevelText for a reader that waits; 0 means 200, negative never.
	TextThreshold int
	// Builders is the most large segments built at once, 0 means 2, and of small ones the
	// most of one codebase.
	Builders int
	// OnWritten is told of bytes of segments that were put into the store, and how many of
	// them the index had before. It must not block.
	OnWritten func(bytes, again int64)
	// OnSealed is told of every seal after it is durable. It must not block.
	OnSealed func(store.Snapshot)
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means discard
}

// Sealer is the apply stage.
type Sealer struct {
	store       store.Store
	opts        Options
	fingerprint store.Fingerprint

	mu     sync.Mutex // guards tracks
	tracks map[store.CodebaseID]*track

	written written

	paced  chan struct{} // has a token when the pace of a track changed
	large  chan struct{} // holds those who build a large segment
	wantMu sync.Mutex    // guards wanted
	wanted map[store.CodebaseID]bool
}

// New returns a sealer.
func New(s store.Store, opts Options) *Sealer {
	if opts.TextThreshold == 0 {
		opts.TextThreshold = 200
	}
	if opts.Builders == 0 {
		opts.Builders = 2
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.OnWritten == nil {
		opts.OnWritten = func(int64, int64) {}
	}
	if opts.OnSealed == nil {
		opts.OnSealed = func(store.Snapshot) {}
	}
	return &Sealer{
		store: s, opts: opts, fingerprint: opts.Recipe.Fingerprint(),
		tracks: map[store.CodebaseID]*track{}, wanted: map[store.CodebaseID]bool{}, large: make(chan struct{}, opts.Builders),
		paced: make(chan struct{}, 1),
	}
}

// Want says that a reader waits for a codebase: when much is still to be done, the snapshot
// that awaits sealing is made searchable by its words first. It does not block.
func (s *Sealer) Want(id store.CodebaseID) {
	s.wantMu.Lock()
	defer s.wantMu.Unlock()
	s.wanted[id] = true
}

// takeWant reports whether a reader waits, and forgets it.
func (s *Sealer) takeWant(id store.CodebaseID) bool {
	s.wantMu.Lock()
	defer s.wantMu.Unlock()
	wanted := s.wanted[id]
	delete(s.wanted, id)
	return wanted
}

// sealers is how many codebases are sealed at once: a large one takes seconds, for which
// an edit of another must not wait.
const sealers = 8

// Consumer is the durable consumer whose deliveries Handle takes.
func (s *Sealer) Consumer() bus.Consumer {
	return bus.Consumer{
		Name: "apply", Workers: sealers,
		Lanes: []bus.Lane{bus.LaneSync, bus.LaneEmbed, bus.LaneApply},
	}
}

// Handle processes one event: it crosses off what the event finished, and seals when
// nothing is left.
func (s *Sealer) Handle(ctx context.Context, d bus.Delivery) error {
	e, err := event.Decode(d.Data)
	if errors.Is(err, event.ErrNewerVersion) || errors.Is(err, event.ErrUnknownType) {
		return s.reconsider(ctx, d)
	}
	if err != nil {
		return &bus.Drop{Err: fmt.Errorf("decode message %d: %w", d.Sequence, err)}
	}
	switch e.Type {
	case event.SnapshotOpened:
		return s.advance(ctx, e.Codebase, e.Snapshot, nil)
	case event.FilesEmbedded:
		return s.advance(ctx, e.Codebase, e.Snapshot, e.Processed.Files)
	case event.FileParked:
		return s.advance(ctx, e.Codebase, e.Snapshot, []event.File{{Path: e.Parked.Path, Content: e.Parked.Content}})
	}
	return nil
}

// reconsider takes an event of a newer version for a hint that something is done: what, the
// store knows.
func (s *Sealer) reconsider(ctx context.Context, d bus.Delivery) error {
	id, fingerprint := event.AddressOf(d.Data)
	if id != d.Codebase || (fingerprint != "" && fingerprint != s.fingerprint) {
		return bus.ErrObsolete
	}
	err := s.Advance(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return bus.ErrObsolete
	}
	return err
}

// Advance seals the snapshot that awaits sealing if nothing is left of its work. It is
// the reconciliation that needs no event.
func (s *Sealer) Advance(ctx context.Context, id store.CodebaseID) error {
	s.track(id).forget()
	codebase, err := s.store.Codebase(ctx, id)
	if err != nil {
		return fmt.Errorf("advance %s: %w", id, err)
	}
	return s.advance(ctx, id, codebase.Latest, nil)
}

func (s *Sealer) advance(ctx context.Context, id store.CodebaseID, number uint64, finished []event.File) error {
	snapshot, err := s.awaiting(ctx, id, number)
	if err != nil {
		return err
	}
	t := s.track(id)
	left, err := t.cross(number, finished, func() (map[string]merkle.Hash, error) {
		pending, err := s.lacks(ctx, snapshot)
		return byContent(pending), err
	})
	if err != nil {
		return err
	}
	s.keepPace(t, snapshot, left, len(finished) > 0)
	if left > 0 {
		return s.sealText(ctx, t, snapshot, left)
	}
	t.sealing.Lock()
	defer t.sealing.Unlock()
	if snapshot, err = s.awaiting(ctx, id, number); err != nil {
		t.forget()
		return err // another delivery sealed it meanwhile
	}
	if !t.confirmed(number) { // before segments are built for nothing; Seal confirms it once more
		lacking, err := s.lacks(ctx, snapshot)
		if err != nil {
			t.forget()
			return err
		}
		if len(lacking) > 0 {
			return s.overrule(ctx, t, snapshot, lacking)
		}
	}
	t.forget()
	return s.sealAt(ctx, snapshot, store.LevelFull)
}

// overrule has the work made again that events said is done and that the store lacks: they
// are of an older or newer life of the store, or rows were lost.
func (s *Sealer) overrule(ctx context.Context, t *track, snapshot store.Snapshot, lacking []store.PendingFile) error {
	wrong := t.correct(snapshot.Number, byContent(lacking))
	var again []store.FileEntry
	for _, p := range lacking {
		if wrong[p.Path] {
			again = append(again, p.FileEntry)
		}
	}
	if len(again) == 0 {
		return nil
	}
	s.opts.Log.Warn("events ahead of the store overruled", "codebase", snapshot.Codebase, "snapshot", snapshot.Number, "files", len(again))
	return s.again(ctx, snapshot, again)
}

// awaiting returns the snapshot if it is the one that awaits sealing, else ErrObsolete.
func (s *Sealer) awaiting(ctx context.Context, id store.CodebaseID, number uint64) (store.Snapshot, error) {
	codebase, err := s.store.Codebase(ctx, id)
	if errors.Is(err, store.ErrNotFound) || (err == nil && codebase.Latest != number) || number == 0 {
		return store.Snapshot{}, bus.ErrObsolete
	}
	if err != nil {
		return store.Snapshot{}, outage(err)
	}
	snapshot, err := s.store.Snapshot(ctx, id, number)
	if err != nil {
		return store.Snapshot{}, outage(err)
	}
	if snapshot.Level == store.LevelFull || snapshot.Abandoned || snapshot.Fingerprint != s.fingerprint {
		return store.Snapshot{}, bus.ErrObsolete
	}
	return snapshot, nil
}

// lacks reads from the store what a snapshot lacks.
func (s *Sealer) lacks(ctx context.Context, snapshot store.Snapshot) ([]store.PendingFile, error) {
	pending, err := s.store.Pending(ctx, snapshot.Codebase, snapshot.Number, s.opts.Recipe)
	return pending, outage(err)
}

// byContent indexes pending files: their contents by path.
func byContent(pending []store.PendingFile) map[string]merkle.Hash {
	lacking := make(map[string]merkle.Hash, len(pending))
	for _, p := range pending {
		lacking[p.Path] = p.Content
	}
	return lacking
}

// sealText seals a snapshot at LevelText when a reader waits and much is left to do.
func (s *Sealer) sealText(ctx context.Context, t *track, snapshot store.Snapshot, remaining int) error {
	if s.opts.TextThreshold < 0 || remaining < s.opts.TextThreshold || snapshot.Level >= store.LevelText {
		return nil
	}
	if !t.sealing.TryLock() {
		return nil // one is being sealed, and the reader is answered from that
	}
	defer t.sealing.Unlock()
	if !s.takeWant(snapshot.Codebase) || !s.worthText(ctx, snapshot) {
		return nil
	}
	// What was read before may be sealed by now.
	snapshot, err := s.awaiting(ctx, snapshot.Codebase, snapshot.Number)
	if err != nil || snapshot.Level >= store.LevelText {
		return err
	}
	return s.sealAt(ctx, snapshot, store.LevelText)
}

// SealWords seals the newest snapshot of a codebase at LevelText if all that it lacks are
// vectors: for a reader whose patience is half over while the embedding provider is slow or
// away. It does nothing where that is not so, and must not be called where another process
// seals.
func (s *Sealer) SealWords(ctx context.Context, id store.CodebaseID) error {
	t := s.track(id)
	if !t.sealing.TryLock() {
		return nil // it is about to be sealed
	}
	defer t.sealing.Unlock()
	codebase, err := s.store.Codebase(ctx, id)
	if err != nil {
		return fmt.Errorf("seal words of %s: %w", id, err)
	}
	snapshot, err := s.awaiting(ctx, id, codebase.Latest)
	if errors.Is(err, bus.ErrObsolete) {
		return nil
	}
	if err != nil || snapshot.Level >= store.LevelText || !s.worthText(ctx, snapshot) {
		return err
	}
	pending, err := s.store.Pending(ctx, id, snapshot.Number, s.opts.Recipe)
	if err != nil {
		return fmt.Errorf("seal words of %s: %w", id, err)
	}
	for _, p := range pending {
		if p.Stage != store.StageEmbed {
			return nil
		}
	}
	if len(pending) == 0 {
		return nil // it is about to be sealed full
	}
	return s.sealAt(ctx, snapshot, store.LevelText)
}

// worthText reports whether serving the words of a snapshot early is better than serving
// the snapshot that is current: not while a full one of another recipe is still served.
func (s *Sealer) worthText(ctx context.Context, snapshot store.Snapshot) bool {
	codebase, err := s.store.Codebase(ctx, snapshot.Codebase)
	if err != nil {
		return false
	}
	return codebase.Current == 0 || !snapshot.Rebuild
}

func (s *Sealer) sealAt(ctx context.Context, snapshot store.Snapshot, level store.Level) error {
	started := s.opts.Now()
	seal, changed, err := s.prepare(ctx, snapshot, level)
	var torn *tornError
	if errors.As(err, &torn) {
		return s.redo(ctx, snapshot, torn.files)
	}
	if err != nil {
		return outage(fmt.Errorf("build segments of snapshot %d: %w", snapshot.Number, err))
	}
	sealed, err := s.sealedEvent(ctx, snapshot, level)
	if err != nil {
		return err
	}
	seal.Events = []store.OutboxEvent{sealed}
	if err := s.store.Seal(ctx, seal); err != nil {
		return outage(fmt.Errorf("seal snapshot %d: %w", snapshot.Number, err))
	}
	snapshot.Level, snapshot.SealedAt = level, seal.At
	s.opts.Log.Info("snapshot sealed", "codebase", snapshot.Codebase, "snapshot", snapshot.Number, "level", level.String(),
		"files", snapshot.Files, "changed", changed, "took", s.opts.Now().Sub(started))
	s.opts.OnSealed(snapshot)
	return outage(s.opts.Outbox.Flush(ctx))
}

// outageDelay is the delay after an error of the store or the log.
const outageDelay = 500 * time.Millisecond

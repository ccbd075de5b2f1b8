// Package reconcile computes work from the store alone: what the tree wants minus what is
// done. It makes the log a hint: when the log was lost, or an event never came, the events
// of the remaining work are made again, and the damaged log is begun anew with a baseline.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// Log is the part of bus.Bus that a reconciler needs.
type Log interface {
	Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error)
	State(ctx context.Context) (bus.State, error)
	Reset(ctx context.Context) (bus.State, error)
	Read(ctx context.Context, from, to uint64, fn func(bus.Stored) error) error
}

// damageSuspecter is a log that can tell cheaply whether it may have been damaged since it was
// last inspected; natsbus.Bus is one. The next call of State inspects it then.
type damageSuspecter interface{ DamageSuspected() bool }

// Pump publishes what is in the outbox; outbox.Pump is one.
type Pump interface {
	Flush(ctx context.Context) error
	Forget()
}

// Sealer seals a snapshot of which nothing is left to do; apply.Sealer is one.
type Sealer interface {
	Advance(ctx context.Context, id store.CodebaseID) error
	// Forget drops what events said of work on its way: the store is asked again.
	Forget()
}

// Reconciler compares what is wanted with what is done.
type Reconciler struct {
	store       store.Store
	log         Log
	pump        Pump
	sealer      Sealer
	recipe      store.Recipe
	fingerprint store.Fingerprint
	consumers   func() []string
	shared      bool
	onHealed    func(reason string)
	left        map[store.CodebaseID]stillness // of the goroutine that runs Run
	now         func() time.Time
	slog        *slog.Logger
}

// Options of a Reconciler.
type Options struct {
	Recipe store.Recipe
	// Consumers names the durable consumers that the work of the recipe needs.
	Consumers func() []string
	// Shared is set where other processes work on the same log: their deliveries in flight
	// are not lost, and the log may be lost while this process runs.
	Shared bool
	// OnHealed is told why a damaged log was begun anew; nil means nobody.
	OnHealed func(reason string)
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means discard
}

// New returns a reconciler.
func New(s store.Store, log Log, pump Pump, sealer Sealer, o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Reconciler{
		left:  map[store.CodebaseID]stillness{},
		store: s, log: log, pump: pump, sealer: sealer, recipe: o.Recipe,
		fingerprint: o.Recipe.Fingerprint(), consumers: o.Consumers, shared: o.Shared, onHealed: o.OnHealed, now: o.Now, slog: o.Log,
	}
}

// Heal compares the log with what the store knows of it. A log that was lost, truncated,
// rolled back or recreated is begun anew: a new incarnation, a baseline event, and the
// events of whatever work remains. It returns the reason, "" when the log was whole. Call
// it before consumers start.
func (r *Reconciler) Heal(ctx context.Context) (reason string, err error) {
	known, state, reason, err := r.inspect(ctx)
	if err != nil {
		return "", err
	}
	if reason != "" && r.shared {
		// A server that has just become the leader may not have all yet: look again.
		if err := bus.Pause(ctx, secondLook); err != nil {
			return "", err
		}
		if known, state, reason, err = r.inspect(ctx); err != nil {
			return "", err
		}
	}
	if reason == "" && known.Incarnation != "" && !r.shared {
		if older, err := r.older(ctx, known, state); err != nil {
			return "", fmt.Errorf("compare log and store: %w", err)
		} else if older {
			reason = reasonOlder
		}
	}
	if known.Incarnation == "" {
		return "created", r.begin(ctx, known, state, "created")
	}
	if reason == "" {
		return "", r.takeOver(ctx, state)
	}
	return reason, r.begin(ctx, known, state, reason)
}

// begin begins the log anew: empty, with a baseline, and with the events of the work that
// remains.
func (r *Reconciler) begin(ctx context.Context, known store.LogPosition, state bus.State, reason string) (err error) {
	if reason != "created" {
		r.slog.Warn("event log is damaged and begins anew", "reason", reason,
			"known", known.Sequence, "last", state.Last)
	}
	if reason != "created" || state.Last > 0 {
		if state, err = r.log.Reset(ctx); err != nil {
			return fmt.Errorf("reset log: %w", err)
		}
	}
	if err := r.baseline(ctx, state.Incarnation, reason, known); err != nil {
		return err
	}
	r.pump.Forget()
	if reason != "created" && r.onHealed != nil {
		r.onHealed(reason)
	}
	if err := r.pump.Flush(ctx); err != nil {
		return fmt.Errorf("publish outbox: %w", err)
	}
	if err := r.requeueAll(ctx); err != nil {
		r.slog.Warn("work could not be made again yet", "error", err) // Once tries again
	}
	return nil
}

// mend heals a log that was damaged while this process runs. Unlike Heal it leaves
// deliveries in flight alone: they are this process's own.
func (r *Reconciler) mend(ctx context.Context) error {
	if d, ok := r.log.(damageSuspecter); ok && !d.DamageSuspected() {
		return nil
	}
	known, state, reason, err := r.inspect(ctx)
	if err != nil || reason == "" {
		return err
	}
	return r.begin(ctx, known, state, reason)
}

// reasonOlder is why a log begins anew that knows more than the store ever did.
const reasonOlder = "store_older"

// secondLook is the time after which a damaged log is looked at again among others.
const secondLook = 2 * time.Second

// inspect compares the log with what the store knows of it.
func (r *Reconciler) inspect(ctx context.Context) (known store.LogPosition, state bus.State, damage string, err error) {
	known, err = r.store.LogPosition(ctx) // before the log, which others may write to
	if err != nil {
		return known, state, "", fmt.Errorf("read log position: %w", err)
	}
	if state, err = r.log.State(ctx); err != nil {
		return known, state, "", fmt.Errorf("inspect log: %w", err)
	}
	return known, state, bus.Damage(known, state), nil
}

// takeOver goes on with a whole log. Messages that are in flight before any consumer has
// begun were taken by a process that is gone: instead of waiting until the log hands them
// out again, their work is made again. What was done meanwhile is not done twice.
func (r *Reconciler) takeOver(ctx context.Context, state bus.State) error {
	if err := r.pump.Flush(ctx); err != nil {
		return fmt.Errorf("publish outbox: %w", err)
	}
	if r.shared { // what others have in flight they finish, or it comes back
		return nil
	}
	for _, c := range state.Consumers {
		if c.InFlight > 0 {
			return r.requeueAll(ctx)
		}
	}
	return nil
}

// advanceAll seals what was finished before this process began to seal. What is left of the
// rest is in flight elsewhere, or comes back when its worker is gone.
func (r *Reconciler) advanceAll(ctx context.Context) error {
	awaiting, err := r.forgotten(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for id := range awaiting {
		if err := r.sealer.Advance(ctx, id); err != nil && !errors.Is(err, bus.ErrObsolete) {
			errs = append(errs, fmt.Errorf("seal what is done of %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// requeueAll makes the work of every codebase again. One that cannot be read costs itself.
func (r *Reconciler) requeueAll(ctx context.Context) error {
	codebases, err := r.store.Codebases(ctx)
	if err != nil {
		return err
	}
	for _, c := range codebases {
		if err := r.requeue(ctx, c); err != nil {
			if ctx.Err() != nil {
				return err
			}
			r.slog.Warn("work of a codebase could not be made again", "codebase", c.ID, "error", err)
		}
	}
	return nil
}

// older tells whether the store is older than the log, as one that was put back is: the log
// then has messages of the outbox that the store neither published, as far as it knows, nor
// is about to publish, nor had published before. What a stage publishes does not pass the
// outbox and says nothing. A log that knows the future of the store would take
// what the store does next for repeats.
func (r *Reconciler) older(ctx context.Context, known store.LogPosition, state bus.State) (bool, error) {
	if state.Last <= known.Sequence {
		return false, nil
	}
	waiting, err := r.store.Outbox(ctx, maxOutbox)
	if err != nil || len(waiting) == maxOutbox {
		return false, err
	}
	published := map[string]bool{}
	for _, o := range waiting {
		if e, err := event.Decode(o.Data); err == nil {
			published[e.ID()] = true
		}
	}
	older := false
	err = r.log.Read(ctx, 1, 0, func(m bus.Stored) error {
		if m.Sequence <= known.Sequence || byStage(m.Data) {
			published[m.ID] = true // a dead letter that was tried again has the ID of before
		} else if !published[m.ID] {
			older = true
		}
		return nil
	})
	return older, err
}

// maxOutbox bounds how much of an outbox is compared with the log.
const maxOutbox = 100_000

func (r *Reconciler) baseline(ctx context.Context, incarnation, reason string, known store.LogPosition) error {
	e := event.BaselineOf(event.Baseline{
		Incarnation: incarnation, Reason: reason,
		PreviousIncarnation: known.Incarnation, PreviousSequence: known.Sequence,
	}, r.now())
	data, err := event.Encode(e)
	if err != nil {
		return fmt.Errorf("encode baseline: %w", err)
	}
	sequence, err := r.log.Publish(ctx, []bus.Message{{Codebase: e.Codebase, Lane: bus.LaneSync, ID: e.ID(), Data: data}}, nil)
	if err != nil {
		return fmt.Errorf("publish baseline: %w", err)
	}
	return r.store.SetLogPosition(ctx, store.LogPosition{Incarnation: incarnation, Sequence: sequence})
}

// Run looks for forgotten work now and then until ctx ends, and returns nil then.
func (r *Reconciler) Run(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := r.Once(ctx); err != nil && ctx.Err() == nil {
			r.slog.Warn("reconciliation failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Keep heals a log that is damaged while this process runs, until ctx ends, and returns nil
// then.
func (r *Reconciler) Keep(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		err := error(nil)
		if r.shared {
			_, err = r.Heal(ctx)
		} else {
			err = r.mend(ctx)
		}
		if err != nil && ctx.Err() == nil {
			r.slog.Warn("event log could not be healed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Once publishes what waits in the outbox, seals snapshots of which nothing is left to do,
// and makes the events of work again that no message in the log speaks of.
func (r *Reconciler) Once(ctx context.Context) error {
	if err := r.pump.Flush(ctx); err != nil {
		return fmt.Errorf("publish outbox: %w", err)
	}
	if r.shared {
		if err := r.advanceAll(ctx); err != nil {
			return err
		}
	}
	forgotten, err := r.forgotten(ctx)
	if err != nil || len(forgotten) == 0 {
		return err
	}
	// The log is asked after the store: what it has not handed out by then, and the store
	// still lacks, no message speaks of. While others are busy, a codebase whose work has
	// not become less since the last look is taken for forgotten too: a repeat of work that
	// still waits changes nothing.
	idle, err := r.idle(ctx)
	if err != nil {
		return err
	}
	still, err := r.forgotten(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for id, c := range forgotten {
		if still[id].Latest != c.Latest || !idle && r.progresses(ctx, c) {
			continue
		}
		if err := r.requeue(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("requeue work of %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// progresses reports whether to wait for a codebase: its work has become less, or is another,
// since the last look, or was made again not long ago.
func (r *Reconciler) progresses(ctx context.Context, c store.Codebase) bool {
	pending, err := r.store.Pending(ctx, c.ID, c.Latest, r.recipe)
	if err != nil {
		return false // its own error shows when its work is made again
	}
	now := amount{snapshot: c.Latest, files: len(pending)}
	for _, p := range pending {
		if p.Stage == store.StageChunk {
			now.toChunk++
		}
	}
	before := r.left[c.ID]
	if before.amount != now {
		r.left[c.ID] = stillness{amount: now}
		return true
	}
	before.looks++
	r.left[c.ID] = before
	return before.looks&(before.looks-1) != 0
}

// stillness is in how many looks in a row a codebase had the same amount of work left. Its
// work is made again after the first, the second, the fourth and so on: a provider that is
// away for hours does not fill the log.
type stillness struct {
	amount
	looks uint
}

// amount is the work that a codebase had left at a look.
type amount struct {
	snapshot       uint64
	files, toChunk int
}

// forgotten returns the codebases whose newest snapshot awaits sealing. One that cannot be
// read is left out: it costs itself only.
func (r *Reconciler) forgotten(ctx context.Context) (map[store.CodebaseID]store.Codebase, error) {
	codebases, err := r.store.Codebases(ctx)
	if err != nil {
		return nil, err
	}
	awaiting := map[store.CodebaseID]store.Codebase{}
	for _, c := range codebases {
		if c.Latest == 0 {
			continue
		}
		snapshot, err := r.store.Snapshot(ctx, c.ID, c.Latest)
		if err != nil {
			r.slog.Warn("codebase cannot be reconciled", "codebase", c.ID, "error", err)
			continue
		}
		if snapshot.Level != store.LevelFull && !snapshot.Abandoned && snapshot.Fingerprint == r.fingerprint {
			awaiting[c.ID] = c
		}
	}
	return awaiting, nil
}

// idle reports whether every message was handed out and settled. A log without consumers
// is not idle: they have not begun.
func (r *Reconciler) idle(ctx context.Context) (bool, error) {
	state, err := r.log.State(ctx)
	if err != nil {
		return false, fmt.Errorf("inspect log: %w", err)
	}
	for _, name := range r.consumers() {
		c, begun := state.Consumers[name]
		if !begun || c.Pending > 0 || c.InFlight > 0 {
			return false, nil
		}
	}
	return true, nil
}

// requeue makes the events of a codebase's remaining work, or seals when none remains.
func (r *Reconciler) requeue(ctx context.Context, c store.Codebase) error {
	if c.Latest == 0 {
		return nil
	}
	snapshot, err := r.store.Snapshot(ctx, c.ID, c.Latest)
	if err != nil {
		return err
	}
	if snapshot.Level == store.LevelFull || snapshot.Abandoned || snapshot.Fingerprint != r.fingerprint {
		return nil
	}
	pending, err := r.store.Pending(ctx, c.ID, c.Latest, r.recipe)
	if err != nil {
		return err
	}
	if len(pending) == 0 {
		if err := r.sealer.Advance(ctx, c.ID); !errors.Is(err, bus.ErrObsolete) {
			return err
		}
		return nil
	}
	// The log may have lost the events of what is done by now: they will not come, and the
	// sealer would wait for them.
	r.sealer.Forget()
	r.slog.Info("work requeued", "codebase", c.ID, "snapshot", c.Latest, "files", len(pending))
	files := make([]event.File, len(pending))
	for i, p := range pending {
		files[i] = event.FileOf(p.FileEntry)
	}
	var out []store.OutboxEvent
	base := event.Event{Codebase: c.ID, Snapshot: c.Latest, Fingerprint: r.fingerprint, At: r.now()}
	for _, e := range event.Again(base, files) {
		data, err := event.Encode(e)
		if err != nil {
			return fmt.Errorf("encode %s: %w", e.Type, err)
		}
		out = append(out, store.OutboxEvent{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data})
	}
	if err := r.store.PutOutbox(ctx, out); err != nil {
		return err
	}
	return r.pump.Flush(ctx)
}

// byStage tells whether a stage published a message, without the outbox.
func byStage(data []byte) bool {
	e, err := event.Decode(data)
	return err == nil && (e.Type == event.FilesChunked || e.Type == event.FilesEmbedded)
}

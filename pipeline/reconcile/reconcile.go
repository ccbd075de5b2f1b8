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
}

// Pump publishes what is in the outbox; outbox.Pump is one.
type Pump interface {
	Flush(ctx context.Context) error
	Forget()
}

// Sealer seals a snapshot of which nothing is left to do; apply.Sealer is one.
type Sealer interface {
	Advance(ctx context.Context, id store.CodebaseID) error
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
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil means discard
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
		store: s, log: log, pump: pump, sealer: sealer, recipe: o.Recipe,
		fingerprint: o.Recipe.Fingerprint(), consumers: o.Consumers, shared: o.Shared, now: o.Now, slog: o.Log,
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
	switch {
	case known.Incarnation == "":
		reason = "created"
	case reason == "":
		return "", r.takeOver(ctx, state)
	default:
		r.slog.Warn("the event log is damaged; beginning anew", "reason", reason,
			"known", known.Sequence, "last", state.Last)
	}
	if reason != "created" || state.Last > 0 {
		if state, err = r.log.Reset(ctx); err != nil {
			return reason, fmt.Errorf("reset log: %w", err)
		}
	}
	if err := r.baseline(ctx, state.Incarnation, reason, known); err != nil {
		return reason, err
	}
	r.pump.Forget()
	if err := r.pump.Flush(ctx); err != nil {
		return reason, fmt.Errorf("publish outbox: %w", err)
	}
	return reason, r.requeueAll(ctx)
}

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

func (r *Reconciler) requeueAll(ctx context.Context) error {
	codebases, err := r.store.Codebases(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range codebases {
		if err := r.requeue(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("requeue work of %s: %w", c.ID, err))
		}
	}
	return errors.Join(errs...)
}

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
			r.slog.Warn("reconcile", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Keep heals a log that others may damage while this process runs, until ctx ends, and
// returns nil then.
func (r *Reconciler) Keep(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if _, err := r.Heal(ctx); err != nil && ctx.Err() == nil {
			r.slog.Warn("heal the event log", "error", err)
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
	// still lacks, no message speaks of.
	idle, err := r.idle(ctx)
	if err != nil || !idle {
		return err
	}
	still, err := r.forgotten(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for id, c := range forgotten {
		if still[id].Latest == c.Latest {
			errs = append(errs, r.requeue(ctx, c))
		}
	}
	return errors.Join(errs...)
}

// forgotten returns the codebases whose newest snapshot awaits sealing.
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
			return nil, fmt.Errorf("codebase %s: %w", c.ID, err)
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
	r.slog.Info("requeue", "codebase", c.ID, "snapshot", c.Latest, "files", len(pending))
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

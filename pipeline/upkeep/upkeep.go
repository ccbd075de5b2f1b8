// Package upkeep runs the maintenance of a store and its log: compaction of segments, garbage
// collection of what the retention does not keep, and truncation of the log behind it. Of the
// processes that share a store and a log one runs it.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// The retention: the newest snapshots, and those of the last days, thinned with their age:
// all of the last hour, then one a minute, one an hour, and one a day. So however many edits
// are made, some 350 snapshots at most are older than an hour.
const (
	keepSnapshots = 20
	keepTime      = 7 * 24 * time.Hour

	keepAll    = time.Hour
	keepMinute = 6 * time.Hour
	keepHour   = 2 * 24 * time.Hour
)

// retention is the retention at a time.
func retention(now time.Time, dryRun bool) store.Retention {
	return store.Retention{
		Keep: keepSnapshots, Since: now.Add(-keepTime), DryRun: dryRun,
		Thin: []store.Thinning{
			{Before: now.Add(-keepAll), Every: time.Minute},
			{Before: now.Add(-keepMinute), Every: time.Hour},
			{Before: now.Add(-keepHour), Every: 24 * time.Hour},
		},
	}
}

// The times between looks for segments to merge, and for what to collect.
const (
	compactEvery = time.Minute
	tidyEvery    = 15 * time.Minute
)

// The size from which Tidy cuts the log.
const (
	longLog  = 10_000    // messages
	largeLog = 128 << 20 // bytes; the log refuses messages from 1 GiB on
)

// Store is the part of store.Store that upkeep needs.
type Store interface {
	Codebases(ctx context.Context) ([]store.Codebase, error)
	Snapshots(ctx context.Context, id store.CodebaseID) ([]store.Snapshot, error)
	Collect(ctx context.Context, r store.Retention) (store.Collected, error)
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error)
	Release(ctx context.Context, lease store.Lease) error
}

// Log is the part of bus.Bus that upkeep needs.
type Log interface {
	State(ctx context.Context) (bus.State, error)
	MessageCounts(ctx context.Context) (map[store.CodebaseID]uint64, error)
	Read(ctx context.Context, from, to uint64, fn func(bus.Stored) error) error
	Purge(ctx context.Context, id store.CodebaseID, below uint64) error
}

// Compactor merges the segments of a codebase when they are many; apply.Sealer is one.
type Compactor interface {
	Compact(ctx context.Context, id store.CodebaseID) (bool, error)
}

// Options of New; the zero value is usable.
type Options struct {
	// Holder names this process where others share store and log.
	Holder string
	// CompactEvery and TidyEvery are the times between looks of Run; 0 means a minute and a
	// quarter of an hour.
	CompactEvery, TidyEvery time.Duration
	Now                     func() time.Time // nil means time.Now
	Log                     *slog.Logger     // nil means discard
}

// Keeper keeps one store and its log.
type Keeper struct {
	store     Store
	log       Log
	compactor Compactor
	opts      Options
}

// New returns a keeper.
func New(s Store, log Log, compactor Compactor, o Options) *Keeper {
	if o.CompactEvery == 0 {
		o.CompactEvery = compactEvery
	}
	if o.TidyEvery == 0 {
		o.TidyEvery = tidyEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{store: s, log: log, compactor: compactor, opts: o}
}

// Run merges and tidies now and then until ctx ends, and returns nil then.
func (k *Keeper) Run(ctx context.Context) error {
	compact, tidy := time.NewTicker(k.opts.CompactEvery), time.NewTicker(k.opts.TidyEvery)
	defer compact.Stop()
	defer tidy.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-compact.C:
			err = k.compact(ctx)
		case <-tidy.C:
			err = k.Tidy(ctx)
		}
		if err != nil && ctx.Err() == nil {
			k.opts.Log.Warn("upkeep failed", "error", err)
		}
	}
}

// compact merges segments of the codebases that have grown many. What fails for one is
// done for the others.
func (k *Keeper) compact(ctx context.Context) error {
	codebases, err := k.store.Codebases(ctx)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	var errs []error
	for _, c := range codebases {
		if c.Current == 0 || ctx.Err() != nil {
			continue
		}
		if _, err := k.compactor.Compact(ctx, c.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
			errs = append(errs, fmt.Errorf("compact %s: %w", c.ID, err))
		}
	}
	return errors.Join(errs...)
}

// Tidy collects, and cuts the log when it has grown.
func (k *Keeper) Tidy(ctx context.Context) error {
	if _, err := k.Collect(ctx, false); err != nil {
		return err
	}
	state, err := k.log.State(ctx)
	if err != nil || (state.Messages < longLog && state.Bytes < largeLog) {
		return err
	}
	return k.Cut(ctx)
}

// Collect removes what the retention does not keep, and from the log what is left of
// codebases that were cleared.
func (k *Keeper) Collect(ctx context.Context, dryRun bool) (store.Collected, error) {
	collected, err := k.store.Collect(ctx, retention(k.opts.Now(), dryRun))
	if err != nil {
		return collected, fmt.Errorf("collect: %w", err)
	}
	if dryRun {
		return collected, nil
	}
	return collected, k.purgeStrays(ctx)
}

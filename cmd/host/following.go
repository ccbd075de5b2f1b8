package host

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/disk"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/freshness"
	"github.com/freshet/freshet/sync/scan"
)

// newFiles makes the reader of files on disk.
func (h *Host) newFiles() *disk.Files {
	return disk.New(disk.Options{Codebase: h.reads.Codebase, Here: h.here, Scan: h.scanning, Ask: h.bus.Ask, Log: h.opts.Log})
}

// newFollowers makes the followers of codebases, under leases where others share the store.
func (h *Host) newFollowers() *freshness.Followers {
	o := freshness.FollowerOptions{
		Make: h.newSynchronizer,
		Go:   func(fn func(context.Context) error) { h.work.Go(func() error { return fn(h.workCtx) }) },
	}
	if h.shared() {
		o.Sharing = &freshness.Sharing{
			Leases: h.store, Holder: h.holder, Peers: h.bus, Files: h.files.Answer,
			Here: func(ctx context.Context, id store.CodebaseID) (bool, error) {
				codebase, err := h.store.Codebase(ctx, id)
				return err == nil && h.here(codebase), err
			},
			EncodeFault: encodeFault, DecodeFault: decodeFault, Log: h.opts.Log,
		}
	}
	return freshness.NewFollowers(o)
}

// audit is the time between checks of a followed codebase that nobody asked for.
const audit = time.Minute

func (h *Host) newSynchronizer(id store.CodebaseID, replaced func()) *merklesync.Synchronizer {
	return merklesync.New(h.store, id, merklesync.Options{
		Outbox: outbox{h.pipeline.Outbox.Flush, h.trouble}, Recipe: h.recipe, Observer: h.ops, Audit: audit, Watching: h.watching(),
		OnReplaced: replaced,
		Scan:       datadir.ScanOptions(h.opts.Home, h.opts.Log), Now: h.opts.Now, Log: h.opts.Log,
	})
}

// outbox flushes the outbox for a synchronizer. Events that could not be published are
// published later; what kept them is noted.
type outbox struct {
	flush   func(context.Context) error
	trouble func(error)
}

// Flush publishes what the outbox holds.
func (o outbox) Flush(ctx context.Context) error {
	err := o.flush(ctx)
	if err != nil && ctx.Err() == nil {
		o.trouble(err)
	}
	return err
}

// encodeFault writes an error of a look at a tree for another process, nil for one that has
// no code.
func encodeFault(id store.CodebaseID, err error) json.RawMessage {
	var known *tool.Error
	if !errors.As(advice.RootCode(id, err), &known) {
		return nil
	}
	data, err := json.Marshal(known)
	if err != nil {
		return nil
	}
	return data
}

// decodeFault reads what encodeFault wrote.
func decodeFault(data json.RawMessage) error {
	var known tool.Error
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	return &known
}

// newChecker makes the checker of freshness for reads.
func (h *Host) newChecker() *freshness.Checker {
	return &freshness.Checker{
		Reads: h.reads, Recipe: h.recipe, Followers: h.followers, Hub: &h.hub, Sealer: sealer{h.pipeline.Sealer, h.sealsWords()},
		Away: h.isAway, Advise: advice.Root, Warnings: h.warnings, Now: h.opts.Now,
		Proven: func(ctx context.Context, id store.CodebaseID) error { return h.note(ctx, id, nil) }, // what failed before is made good
	}
}

// wordSealer is what the pipeline seals with.
type wordSealer interface {
	Want(id store.CodebaseID)
	SealWords(ctx context.Context, id store.CodebaseID) error
}

// sealer seals words only where that gains a reader anything.
type sealer struct {
	wordSealer
	words bool
}

// SealWords makes changes searchable by their words.
func (s sealer) SealWords(ctx context.Context, id store.CodebaseID) error {
	if !s.words {
		return nil
	}
	return s.wordSealer.SealWords(ctx, id)
}

// sealsWords reports whether changes are made searchable by their words while an embedding
// provider over a network keeps a reader waiting. Where others seal too, it is theirs to do.
func (h *Host) sealsWords() bool {
	_, local := h.provider.(embedding.PathEmbedder)
	return !local && !h.shared()
}

// checks gives readings their operation, and measures how long checks take.
type checks struct {
	*freshness.Checker
	running func(store.CodebaseID) *tool.Operation
	checked func(state string, took time.Duration)
}

// Check checks as freshness.Checker does.
func (c checks) Check(ctx context.Context, id store.CodebaseID, o tool.CheckOptions) (tool.Reading, error) {
	reading, err := c.Checker.Check(ctx, id, freshness.Demand{
		Unchecked: o.Mode == tool.ModeEventual, MaxWait: o.MaxWait, MinToken: o.MinToken, At: o.At,
	})
	if err != nil {
		return tool.Reading{}, err
	}
	if v := reading.Verdict; !v.CheckedAt.IsZero() {
		c.checked(string(v.State), v.CheckTook)
	}
	return tool.Reading{Verdict: reading.Verdict, View: reading.View, CanEmbed: reading.CanEmbed, Running: c.running(id)}, nil
}

// warnings are what an answer about a codebase has to tell beside its verdict.
func (h *Host) warnings(id store.CodebaseID, state search.Freshness) []search.Warning {
	all := append(h.tellReset(id), h.away()...)
	if state == search.Behind {
		all = append(append(all, h.unpublished()...), h.limits()...)
	}
	return all
}

// trouble notes an error of the chain with the operations that run.
func (h *Host) trouble(err error) {
	if advice.IsDamage(err) {
		h.mu.Lock()
		h.met = damageMet{h.met.count + 1, err}
		h.mu.Unlock()
		h.hub.NotifyAll()
	}
	h.ops.trouble(datadir.AdviseRoom(h.opts.Home, err))
}

// damageMet is the damage that a worker met last, and how often one did.
type damageMet struct {
	count int
	err   error
}

// settler waits for seals.
func (h *Host) settler() freshness.Settler {
	return freshness.Settler{Store: h.store, Hub: &h.hub, Damage: func() (int, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.met.count, h.met.err
	}}
}

// watching is what a synchronizer of this host is told of watchers.
func (h *Host) watching() merklesync.Watching {
	if !h.opts.Watch {
		return merklesync.Watching{}
	}
	dir, err := filepath.EvalSymlinks(h.opts.Home)
	if err != nil {
		dir = h.opts.Home
	}
	return merklesync.Watching{Dir: dir}
}

// followAll starts the synchronizers of the codebases that are served, so that their
// changes are indexed although nobody asks. One that cannot be is followed when asked for.
func (h *Host) followAll(ctx context.Context) {
	codebases, err := h.store.Codebases(ctx)
	for _, c := range codebases {
		if c.Current == 0 || !h.here(c) {
			continue
		}
		if _, ferr := h.followers.Follow(c.ID); ferr != nil {
			err = errors.Join(err, ferr)
		}
	}
	if err != nil {
		h.opts.Log.Warn("codebases cannot be followed", "error", err)
	}
}

// watch reports on the watcher of a codebase.
func (h *Host) watch(id store.CodebaseID) tool.WatchReport {
	status, followed := h.followers.Watch(id)
	if !followed {
		return tool.WatchReport{State: string(status.State), Reason: "nobody has asked for this codebase yet"}
	}
	report := tool.WatchReport{
		State: string(status.State), Reason: status.Reason, Watches: status.Watches,
		Since: status.Since, Missed: status.Missed,
	}
	if !h.opts.Watch {
		report.Reason = "this host lives for one command"
	}
	return report
}

// scanning returns the options for the directory that is registered of a codebase.
func (h *Host) scanning(c store.Codebase) scan.Options {
	options := datadir.ScanOptions(h.opts.Home, h.opts.Log)
	options.Identity = c.Identity
	return options
}

package host

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/freshness"
)

// newFollowers makes the followers of codebases, under leases where others share the store.
func (h *Host) newFollowers() *freshness.Followers {
	o := freshness.FollowerOptions{
		Make: h.newSynchronizer,
		Go:   h.goWork,
	}
	if h.shared() {
		o.Sharing = &freshness.Sharing{
			Leases: h.store, Holder: h.holder, Peers: h.bus, Files: h.files.Answer,
			Here: func(ctx context.Context, id store.CodebaseID) (bool, error) {
				codebase, err := h.store.Codebase(ctx, id)
				return err == nil && h.here(codebase), err
			},
			EncodeFault: advice.EncodeFault, DecodeFault: advice.DecodeFault, Log: h.opts.Log,
		}
	}
	return freshness.NewFollowers(o)
}

// goWork runs a function in a goroutine of the work, which Close ends and waits for.
func (h *Host) goWork(fn func(context.Context) error) {
	h.work.Go(func() error { return fn(h.workCtx) })
}

// audit is the time between checks of a followed codebase that nobody asked for.
const audit = time.Minute

func (h *Host) newSynchronizer(id store.CodebaseID, replaced func()) *merklesync.Synchronizer {
	return merklesync.New(h.store, id, merklesync.Options{
		Outbox: outbox{h.pipeline.Outbox.Flush, h.trouble}, Recipe: h.recipe, Observer: h.tracker, Audit: audit, Watching: h.watching(),
		OnReplaced: replaced,
		Scan:       datadir.ScanOptions(h.opts.Home, h.opts.Log), Now: h.opts.Now, Log: h.opts.Log,
	})
}

// newChecker makes the checker of freshness for reads.
func (h *Host) newChecker() *freshness.Checker {
	return &freshness.Checker{
		Reads: h.reads, Recipe: h.recipe, Followers: h.followers, Hub: &h.hub, Sealer: h.pipeline.Sealer, Words: h.sealsWords(),
		Away: h.isAway, Advise: advice.Root, Warnings: h.warnings, Hindered: func() bool { return h.damage.Recent(h.opts.Now()) != nil }, Now: h.opts.Now,
		Proven: func(ctx context.Context, id store.CodebaseID) error { return h.runner.Note(ctx, id, nil) }, // what failed before is made good
	}
}

// sealsWords reports whether changes are made searchable by their words while an embedding
// provider over a network keeps a reader waiting. Where others seal too, it is theirs to do.
func (h *Host) sealsWords() bool {
	_, local := h.provider.(embedding.PathEmbedder)
	return !local && !h.shared()
}

// trouble notes an error of the chain with the operations that run.
func (h *Host) trouble(err error) {
	if store.IsDamage(err) {
		h.damage.Met(err, h.opts.Now())
		h.hub.NotifyAll()
	}
	h.tracker.Trouble(datadir.AdviseRoom(h.opts.Home, err))
}

// newSettler makes what waits for seals.
func (h *Host) newSettler() freshness.Settler {
	return freshness.Settler{Store: h.store, Hub: &h.hub, Damage: h.damage.Count}
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

// sealed is told of every seal.
func (h *Host) sealed(snapshot store.Snapshot) {
	h.followers.Sealed(snapshot)
	h.hub.Notify(snapshot.Codebase)
}

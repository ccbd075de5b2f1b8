package host

import (
	"context"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/outagecache"
)

func (h *Host) openShared(ctx context.Context) error {
	if err := h.opts.Cluster.Check(); err != nil {
		return tool.Errorf(tool.CodeInvalidArgument, "%w", err)
	}
	parts, err := cluster.Open(ctx, h.opts.Cluster, cluster.Options{
		CacheDir: filepath.Join(h.opts.Home, datadir.CacheName), Now: h.opts.Now, Log: h.opts.Log, OpenStore: h.opts.OpenStore,
	})
	if err != nil {
		return err
	}
	h.store, h.bus, h.holder, h.candidates = parts.Store, parts.Bus, parts.Holder, parts.Candidates
	h.standby = outagecache.New(h.store, outagecache.Options{Now: h.opts.Now, Log: h.opts.Log})
	h.reads = h.standby
	return nil
}

// hear follows what other processes do, so that those who wait here are woken, until ctx
// ends. It returns nil then.
func (h *Host) hear(ctx context.Context) error {
	state, err := h.bus.State(ctx)
	for err != nil {
		h.opts.Log.Warn("subscription to seals failed", "error", err)
		timer := time.NewTimer(republishEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		state, err = h.bus.State(ctx)
	}
	lanes := []bus.Lane{bus.LaneSync, bus.LaneChunk, bus.LaneBulkChunk, bus.LaneEmbed, bus.LaneApply}
	return h.bus.FollowLanes(ctx, state.Last+1, lanes, func(m bus.Stored) error {
		if e, err := event.Decode(m.Data); err == nil {
			h.heard(ctx, e)
		}
		return nil
	})
}

func (h *Host) heard(ctx context.Context, e event.Event) {
	switch e.Type {
	case event.FilesChunked:
		h.progressed(e, store.StageChunk)
	case event.FilesEmbedded:
		h.progressed(e, store.StageEmbed)
	case event.SnapshotSealed:
		snapshot, err := h.store.Snapshot(ctx, e.Codebase, e.Snapshot)
		if err == nil {
			h.sealed(snapshot)
		}
	case event.CodebaseCleared:
		h.standby.Forget()
		h.work.Go(func() error {
			h.followers.Unfollow(e.Codebase)
			return nil
		})
	case event.SnapshotOpened, event.FileParked, event.FileUnparked:
		h.hub.Notify(e.Codebase)
	}
}

// progressed counts what a stage finished, wherever it did.
func (h *Host) progressed(e event.Event, s store.Stage) {
	p := e.Processed
	reused := min(max(p.Reused, 0), len(p.Files))
	h.tracker.Processed(e.Codebase, e.Snapshot, s, len(p.Files)-reused, reused, max(p.Units, 0))
}

// republishEvery is the time between looks for events that could not be published.
const republishEvery = time.Second

// republish publishes what could not be published before, until ctx ends, and returns nil
// then: the process that committed it may be gone. It also wakes who waits here for what
// happens elsewhere, of which the message may be late.
func (h *Host) republish(ctx context.Context) error {
	ticker := time.NewTicker(republishEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		h.hub.NotifyAll()
		if err := h.pipeline.Outbox.Flush(ctx); err != nil && ctx.Err() == nil {
			h.opts.Log.Warn("publish failed", "error", err)
		}
	}
}

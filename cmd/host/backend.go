package host

import (
	"context"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/eventlog"
	"github.com/freshet/freshet/cmd/inspect"
	"github.com/freshet/freshet/cmd/maintenance"
	"github.com/freshet/freshet/cmd/operation"
	"github.com/freshet/freshet/cmd/registry"
	"github.com/freshet/freshet/cmd/scratch"
	"github.com/freshet/freshet/cmd/verify"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/scan"
)

// newBackend gives the handlers what they need. The store itself is the contents and the
// switch of snapshots.
func (h *Host) newBackend() tool.Backend {
	registry := h.newRegistry()
	log := eventlog.Log{Source: h.bus, Store: h.store, Recipe: h.recipe}
	return tool.Backend{
		Catalog:    catalog{h.reads, h.here, h.isAway},
		Contents:   h.reads,
		Snapshots:  h.store,
		Search:     searcher{h.engine, h.reads},
		Registry:   registry,
		Freshness:  checks{h.newChecker(), h.tracker.Running, h.meter.Checked},
		Disk:       h.files,
		Operations: h.runner,
		Inspector: &inspect.Inspector{
			Store: h.store, Recipe: h.recipe, Log: h.bus, Events: log, Here: h.here, Compare: h.files.Compare,
			Scan:    func() scan.Options { return datadir.ScanOptions(h.opts.Home, h.opts.Log) },
			Running: h.tracker.Running, Watch: h.followers.Watch, Watching: h.opts.Watch, Reset: h.logReset,
		},
		Planner:  &operation.Planner{Admit: registry.Admit, Store: h.store, Recipe: h.recipe, Here: h.here, Scan: h.scanning},
		Canon:    h.verifier,
		History:  log,
		Keeper:   h.newMaintenance(),
		Sessions: sessions{h.reads, h.store},
		Masking:  &h.masking,
		Now:      h.opts.Now,
	}
}

func (h *Host) newMaintenance() maintenance.Maintenance {
	return maintenance.Maintenance{Collector: h.pipeline.Keeper, Letters: h.bus, Scrub: h.scrub}
}

func (h *Host) newRegistry() *registry.Registry {
	return &registry.Registry{
		Store: h.store, Home: h.opts.Home, Place: h.place(), Here: h.here,
		Publish: h.pipeline.Outbox.Flush, Cleaner: h.newMaintenance(), Scrub: h.scrub, Now: h.opts.Now,
		Stop: func(ctx context.Context, id store.CodebaseID) error {
			if _, _, err := h.tracker.Stop(ctx, id); err != nil {
				return err
			}
			h.followers.Unfollow(id)
			return nil
		},
	}
}

func (h *Host) newVerifier() *verify.Verifier {
	_, local := h.provider.(embedding.PathEmbedder)
	return &verify.Verifier{
		Local: local,
		Store: h.store, Recipe: h.recipe, Followers: h.followers, Settler: h.newSettler(), Here: h.here, Load: h.pipeline.Sealer.Load,
		Scratch: func(ctx context.Context) (*scratch.Index, error) { return scratch.Open(ctx, h.workCtx, h.scratch()) },
		Log:     eventlog.Log{Source: h.bus, Store: h.store, Recipe: h.recipe},
		Kept:    func() []string { return datadir.AsideNotes(h.opts.Home) },
	}
}

func (h *Host) newRunner() *operation.Runner {
	return &operation.Runner{
		Tracker: h.tracker, Store: h.store, Recipe: h.recipe, Followers: h.followers, Settler: h.newSettler(), Go: h.goWork,
		Repair: h.repair, Compact: h.pipeline.Sealer.Compact, Tidy: h.tidy, Shared: h.shared(), Log: h.opts.Log,
	}
}

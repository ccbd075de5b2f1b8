package host

import (
	"context"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/scan"
)

// shared reports whether log and store are those of a cluster.
func (h *Host) shared() bool { return h.opts.Cluster.Shared() }

// place names the file system that this host's roots are paths of.
func (h *Host) place() string {
	if !h.shared() {
		return ""
	}
	return h.opts.Cluster.Place
}

// here reports whether this host sees the tree of a codebase.
func (h *Host) here(c store.Codebase) bool { return c.Place == h.place() }

// scanning returns the options for the directory that is registered of a codebase.
func (h *Host) scanning(c store.Codebase) scan.Options {
	options := datadir.ScanOptions(h.opts.Home, h.opts.Log)
	options.Identity = c.Identity
	return options
}

// scrub takes what was deleted out of the files of an embedded store.
func (h *Host) scrub(ctx context.Context) error {
	scrubber, ok := h.store.(interface {
		Scrub(ctx context.Context) error
	})
	if !ok {
		return nil // a server keeps its files itself
	}
	return scrubber.Scrub(ctx)
}

// tidy tidies store and log, unless one of the processes that share them does.
func (h *Host) tidy(ctx context.Context) error {
	if h.shared() {
		return nil
	}
	return h.pipeline.Keeper.Tidy(ctx)
}

package host

import (
	"context"
	"errors"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// newBackend gives the handlers what they need. The store itself is the catalog, the
// contents and the switch of snapshots.
func (h *Host) newBackend() tool.Backend {
	return tool.Backend{
		Catalog:    catalog{h.store, h},
		Contents:   h.store,
		Snapshots:  h.store,
		Search:     searcher{h},
		Registry:   registry{h},
		Freshness:  timed{checker{h}},
		Disk:       disk{h},
		Operations: runner{h},
		Inspector:  inspector{h},
		Planner:    planner{h},
		Canon:      canonist{h},
		History:    historian{h},
		Keeper:     keeper{h},
		Sessions:   h.store,
		Now:        h.opts.Now,
	}
}

// searcher searches with the engine.
type searcher struct{ *Host }

// Search answers from one sealed snapshot. When its segments were merged and collected
// since the view was taken, the snapshot has others with the same files: it is read again.
func (s searcher) Search(ctx context.Context, view store.View, q search.Query) (search.Result, error) {
	result, err := s.engine.Search(ctx, view, q)
	if !errors.Is(err, store.ErrNotFound) {
		return result, adviseDamage(view.Snapshot.Codebase, err)
	}
	view, verr := s.store.View(ctx, view.Snapshot.Codebase, view.Snapshot.Number)
	if verr != nil {
		return result, errors.Join(err, verr)
	}
	result, err = s.engine.Search(ctx, view, q)
	return result, adviseDamage(view.Snapshot.Codebase, err)
}

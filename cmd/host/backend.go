package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/standby"
)

// newBackend gives the handlers what they need. The store itself is the catalog, the
// contents and the switch of snapshots.
func (h *Host) newBackend() tool.Backend {
	return tool.Backend{
		Catalog:    catalog{h.reads, h},
		Contents:   h.reads,
		Snapshots:  h.store,
		Search:     searcher{h},
		Registry:   registry{h},
		Freshness:  checks{h.newChecker(), h.ops.running, h.meter.Checked},
		Disk:       h.files,
		Operations: runner{h},
		Inspector:  inspector{h},
		Planner:    planner{h},
		Canon:      canonist{h},
		History:    historian{h},
		Keeper:     keeper{h},
		Sessions:   sessions{h.reads, h.store},
		Masking:    &h.masking,
		Now:        h.opts.Now,
	}
}

// sessions reads as everything else is read, and writes to the store, which may be away.
type sessions struct {
	store.Reader
	writer store.Writer
}

// PutSession keeps a session.
func (s sessions) PutSession(ctx context.Context, session store.Session) error {
	if away, ok := s.Reader.(*standby.Reader); ok {
		if _, gone := away.Away(); gone {
			return fmt.Errorf("keep the session: %w", store.ErrUnavailable)
		}
	}
	return s.writer.PutSession(ctx, session)
}

// searcher searches with the engine.
type searcher struct{ *Host }

// Search answers from one sealed snapshot. When its segments were merged and collected
// since the view was taken, the snapshot has others with the same files: it is read again.
func (s searcher) Search(ctx context.Context, view store.View, q search.Query) (search.Result, error) {
	result, err := s.engine.Search(ctx, view, q)
	if !errors.Is(err, store.ErrNotFound) {
		return result, advice.Damage(view.Snapshot.Codebase, err)
	}
	view, verr := s.reads.View(ctx, view.Snapshot.Codebase, view.Snapshot.Number)
	if verr != nil {
		return result, errors.Join(err, verr)
	}
	result, err = s.engine.Search(ctx, view, q)
	return result, advice.Damage(view.Snapshot.Codebase, err)
}

package scratch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/freshet/freshet/cmd/recipe"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/scan"
)

// Workshop indexes trees into stores that are thrown away, by the same scan, pipeline and
// recipe as a host. It is no host: it holds no lock and nobody attaches to it.
type Workshop struct{ parts Parts }

// NewWorkshop starts the parsers. Stores are made in dir, which must exist.
func NewWorkshop(dir string, chunkCommand []string, log *slog.Logger) (*Workshop, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	pool, err := chunk.NewPool(chunk.Options{Command: chunkCommand, Log: log})
	if err != nil {
		return nil, fmt.Errorf("open workshop: %w", err)
	}
	provider := builtin.New()
	return &Workshop{Parts{Dir: dir, Recipe: recipe.Of(provider), Provider: provider, Pool: pool, Log: log}}, nil
}

// Close stops the parsers. Indexes must be closed before.
func (w *Workshop) Close() error { return w.parts.Pool.Close() }

// Embedder embeds queries under the recipe of the indexes.
func (w *Workshop) Embedder() search.QueryEmbedder { return w.parts.Provider }

// Sealed is a tree that was indexed in a workshop. It is valid until Close.
type Sealed struct {
	index *Index
	view  store.View
}

// Index indexes the tree at an absolute path and waits until all of it is sealed.
func (w *Workshop) Index(ctx context.Context, root string) (sealed *Sealed, err error) {
	x, err := Open(ctx, context.WithoutCancel(ctx), w.parts) // Close ends its work
	if err != nil {
		return nil, fmt.Errorf("open a store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("index %s: %w", root, err), x.Close())
		}
	}()
	codebase := store.Codebase{ID: "workshop", Name: "workshop", Root: root}
	if codebase.Identity, err = scan.Identity(root); err != nil {
		return nil, err
	}
	number, err := x.Rebuild(ctx, codebase)
	if err != nil {
		return nil, err
	}
	view, err := x.store.View(ctx, codebase.ID, number)
	if err != nil {
		return nil, err
	}
	return &Sealed{index: x, view: view}, nil
}

// View is what was sealed.
func (s *Sealed) View() store.View { return s.view }

// Source is the store to search.
func (s *Sealed) Source() search.Source { return s.index.store }

// Close removes the index.
func (s *Sealed) Close() error { return s.index.Close() }

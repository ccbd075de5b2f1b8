package host

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

// kit is what a bench beside a host shares with it.
func (h *Host) kit() kit {
	return kit{home: h.opts.Home, recipe: h.recipe, provider: h.provider, live: h.store, pool: h.pool, log: h.opts.Log}
}

// Workshop indexes trees into stores that are thrown away, by the same scan, pipeline and
// recipe as a host. It is no host: it holds no lock and nobody attaches to it.
type Workshop struct{ kit kit }

// OpenWorkshop starts the parsers. Stores are made in dir, which must exist.
func OpenWorkshop(dir string, chunkCommand []string, log *slog.Logger) (*Workshop, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	pool, err := chunk.NewPool(chunk.Options{Command: chunkCommand, Log: log})
	if err != nil {
		return nil, fmt.Errorf("open workshop: %w", err)
	}
	provider := builtin.New()
	return &Workshop{kit{home: dir, recipe: recipe.Of(provider), provider: provider, pool: pool, log: log}}, nil
}

// Close stops the parsers. Indexes must be closed before.
func (w *Workshop) Close() error { return w.kit.pool.Close() }

// Embedder embeds queries under the recipe of the indexes.
func (w *Workshop) Embedder() search.QueryEmbedder { return w.kit.provider }

// Index is a tree that was indexed in a workshop. It is valid until Close.
type Index struct {
	bench *bench
	view  store.View
}

// Index indexes the tree at an absolute path and waits until all of it is sealed.
func (w *Workshop) Index(ctx context.Context, root string) (index *Index, err error) {
	b, err := openBench(ctx, context.WithoutCancel(ctx), w.kit) // Close ends its work
	if err != nil {
		return nil, fmt.Errorf("open a store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("index %s: %w", root, err), b.close())
		}
	}()
	codebase := store.Codebase{ID: "workshop", Name: "workshop", Root: root}
	if codebase.Identity, err = scan.Identity(root); err != nil {
		return nil, err
	}
	number, err := b.rebuild(ctx, codebase)
	if err != nil {
		return nil, err
	}
	view, err := b.store.View(ctx, codebase.ID, number)
	if err != nil {
		return nil, err
	}
	return &Index{bench: b, view: view}, nil
}

// View is what was sealed.
func (x *Index) View() store.View { return x.view }

// Source is the store to search.
func (x *Index) Source() search.Source { return x.bench.store }

// Close removes the index.
func (x *Index) Close() error { return x.bench.close() }

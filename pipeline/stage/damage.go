package stage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Tree reads files of codebases again, where the store has lost what it had of them.
type Tree interface {
	// Reread returns what the file at a path holds now if that has the hash, and an error
	// otherwise.
	Reread(ctx context.Context, id store.CodebaseID, path string, h merkle.Hash) ([]byte, error)
}

// content reads the content of a file. One that is damaged or gone is discarded and read from
// the tree again. When that has another file by now, or cannot be reached from here, the error
// is the file's own: it counts as a try, and the last one parks the file.
func (c *core) content(ctx context.Context, id store.CodebaseID, f event.File) ([]byte, error) {
	data, err := c.Store.Content(ctx, f.Content)
	if err == nil || !errors.Is(err, store.ErrNotFound) && !store.IsDamage(err) {
		return data, outage(err)
	}
	if store.IsDamage(err) {
		if err := c.Store.Discard(ctx, store.Damage{Contents: []merkle.Hash{f.Content}}); err != nil {
			return nil, outage(err)
		}
	}
	if c.Tree == nil {
		return nil, fmt.Errorf("%w: the files are not on this machine", err)
	}
	path, unquote := merkle.UnquotePath(f.Path)
	if unquote != nil {
		return nil, unquote
	}
	data, reread := c.Tree.Reread(ctx, id, path, f.Content)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if reread == nil && sha256.Sum256(data) != f.Content {
		reread = errors.New("the file has changed")
	}
	if reread != nil {
		return nil, fmt.Errorf("%w, and cannot be read from the tree again: %w", err, reread)
	}
	if err := c.Store.PutContents(ctx, []store.Content{{Hash: f.Content, Data: data}}); err != nil {
		return nil, outage(err)
	}
	c.Log.Warn("damaged content read from the tree again", "path", f.Path, "content", f.Content.Short(), "error", err)
	return data, nil
}

// discard has the store drop the damaged rows that a read of several rows met, so that they
// are made again. It returns what else is wrong.
func (c *core) discard(ctx context.Context, err error) error {
	var damage *store.DamagedError
	if !errors.As(err, &damage) {
		return outage(err)
	}
	c.Log.Warn("damaged rows are made again", "stage", c.stage, "contents", len(damage.Contents),
		"syntaxes", len(damage.Syntaxes), "vectors", len(damage.Vectors), "error", err)
	return outage(c.Store.Discard(ctx, damage.Damage))
}

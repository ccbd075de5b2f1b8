// Package salvage replaces a damaged store of a data directory by a new one that holds what
// can be read of it. The damaged one is set aside, never deleted.
package salvage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/scratch"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/sqlitestore"
)

// Options of a salvage. All are required.
type Options struct {
	Home string // the data directory
	Now  func() time.Time
	Log  *slog.Logger
}

// New makes an empty store beside the damaged one and takes over what cannot be made
// again from the files on disk; see sqlitestore.Store.Salvage. Its directory is removed by
// the next start unless it is put in the place of the store. The damaged store is open when
// live is not nil.
func New(ctx context.Context, o Options, live store.Store) (_ *sqlitestore.Store, err error) {
	from, done := datadir.StorePath(o.Home), func() error { return nil }
	if local, ok := live.(*sqlitestore.Store); ok && local.CheckPresence() != nil { // there is nothing at the path
		if from, err = datadir.Scratch(o.Home); err != nil {
			return nil, err
		}
		done = func() error { return os.RemoveAll(from) }
		if err := local.CopyTo(ctx, from); err != nil {
			return nil, errors.Join(err, done())
		}
	}
	fresh, err := take(ctx, o, from)
	return fresh, errors.Join(err, done())
}

// take makes a store with what can be taken over from the one in a directory.
func take(ctx context.Context, o Options, from string) (*sqlitestore.Store, error) {
	dir, err := datadir.Scratch(o.Home)
	if err != nil {
		return nil, err
	}
	fresh, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{Log: o.Log, Now: o.Now})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	done, err := fresh.Salvage(ctx, from)
	if err != nil {
		return nil, errors.Join(err, fresh.Close(), os.RemoveAll(dir))
	}
	o.Log.Info("damaged store salvaged", "codebases", done.Codebases, "vectors", done.Vectors, "sessions", done.Sessions, "skipped", done.Skipped)
	return fresh, datadir.NoteLoss(o.Home, done.Lost)
}

// Replace puts a closed store in the place of the damaged one, which is kept under a
// name of its own, in one step where the file system can exchange two names. The caller
// holds the lock of the data directory and has closed the store.
func Replace(o Options, fresh string) (kept string, err error) {
	damaged := datadir.StorePath(o.Home)
	kept = filepath.Join(o.Home, datadir.AsidePrefix+o.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(fresh, kept); err != nil {
		return "", fmt.Errorf("set the damaged store aside: %w", err)
	}
	err = unix.Renameat2(unix.AT_FDCWD, kept, unix.AT_FDCWD, damaged, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.ENOENT): // there is no store to keep
		if err := os.Rename(kept, damaged); err != nil {
			return "", fmt.Errorf("put the new store in its place: %w", err)
		}
		kept = ""
	case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		if err := errors.Join(os.Rename(kept, fresh), os.Rename(damaged, kept), os.Rename(fresh, damaged)); err != nil {
			return "", fmt.Errorf("put the new store in its place: %w", err)
		}
	case err != nil:
		return "", fmt.Errorf("put the new store in its place: %w", errors.Join(err, os.Rename(kept, fresh)))
	}
	dir, err := os.Open(o.Home)
	if err != nil {
		return kept, err
	}
	o.Log.Warn("damaged store set aside, a new one serves", "kept", kept)
	return kept, errors.Join(dir.Sync(), dir.Close())
}

// Rescue replaces a store that does not open by one with what could be salvaged of it. It
// returns datadir.ErrHeld while another process holds the data directory.
func Rescue(ctx context.Context, o Options) error {
	lock, err := datadir.Lock(o.Home)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the lock goes with it
	fresh, err := New(ctx, o, nil)
	if err != nil {
		return fmt.Errorf("make the store anew: %w", err)
	}
	if err := fresh.Close(); err != nil {
		return errors.Join(err, os.RemoveAll(fresh.Dir()))
	}
	_, err = Replace(o, fresh.Dir())
	return err
}

// Fill indexes the codebases of a new store that are here into it, and closes it; the work
// ends with workCtx at the latest. A codebase that cannot be indexed is left to its next sync.
func Fill(ctx, workCtx context.Context, fresh *sqlitestore.Store, here func(store.Codebase) bool, p scratch.Parts) error {
	p.Live = nil // its vectors are in the new store
	index, err := scratch.Over(ctx, workCtx, p, fresh)
	if err != nil {
		return err
	}
	codebases, err := fresh.Codebases(ctx)
	for _, c := range codebases {
		if !here(c) {
			continue
		}
		if _, ferr := index.Rebuild(ctx, c); ferr != nil {
			p.Log.Warn("codebase is not in the new store yet", "codebase", c.ID, "error", ferr)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(err, ctx.Err(), index.End())
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/sqlitestore"
)

// repairs reports whether a call asks for damage to be repaired.
func repairs(verb string, params json.RawMessage) bool {
	var p tool.VerifyParams
	return verb == "verify" && json.Unmarshal(params, &p) == nil && p.Repair
}

// freshStore makes an empty store beside the damaged one and takes over what cannot be made
// again from the files on disk; see sqlitestore.Store.Salvage. Its directory is removed by
// the next start unless it is put in the place of the store.
func freshStore(ctx context.Context, o Options) (_ *sqlitestore.Store, err error) {
	dir, err := datadir.Scratch(o.Home)
	if err != nil {
		return nil, err
	}
	fresh, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{Log: o.Log, Now: o.Now})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	done, err := fresh.Salvage(ctx, datadir.StorePath(o.Home))
	if err != nil {
		return nil, errors.Join(err, fresh.Close(), os.RemoveAll(dir))
	}
	o.Log.Info("damaged store salvaged", "codebases", done.Codebases, "vectors", done.Vectors, "skipped", done.Skipped)
	return fresh, nil
}

// replaceStore puts a closed store in the place of the damaged one, which is kept under a
// name of its own, in one step where the file system can exchange two names. The caller
// holds the lock of the data directory and has closed the store.
func replaceStore(o Options, fresh string) (kept string, err error) {
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

// rescue replaces a store that does not open by one with what could be salvaged of it. It
// returns errHeld while another process holds the data directory.
func rescue(ctx context.Context, o Options) error {
	lock, err := datadir.Lock(o.Home)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the lock goes with it
	fresh, err := freshStore(ctx, o)
	if err != nil {
		return fmt.Errorf("make the store anew: %w", err)
	}
	if err := fresh.Close(); err != nil {
		return errors.Join(err, os.RemoveAll(fresh.Dir()))
	}
	_, err = replaceStore(o, fresh.Dir())
	return err
}

// errAgain is returned when a store is damaged soon after it was made anew.
var errAgain = errors.New("the store was damaged again soon after it was made anew: look for a failing disk or memory (`dmesg`), " +
	"or choose another --home")

// againWithin is the time after which damage to a store that was made anew has nothing to do
// with that.
const againWithin = time.Minute

// makeAnew builds a store beside the damaged one, which serves meanwhile what it can, and
// fills it from the files on disk and what can be salvaged. Then it has the session put the
// new store in the place of the other, and the caller make its call again. It says every
// few seconds what it waits for; a caller that hangs up stops it, and nothing has changed.
func (h *Host) makeAnew(ctx context.Context, observe tool.Observer) (err error) {
	if h.opts.replaced.After(h.opts.Now().Add(-againWithin)) {
		return errAgain
	}
	h.building.Lock()
	defer h.building.Unlock()
	if h.retiring() {
		return nil
	}
	stop := tell(ctx, observe, "a new store is being built beside the damaged one, which serves what it can meanwhile; interrupting this changes nothing")
	defer stop()
	fresh, err := freshStore(ctx, h.opts)
	if err != nil {
		return fmt.Errorf("make the store anew: %w", err)
	}
	if err := h.fill(ctx, fresh); err != nil {
		return errors.Join(fmt.Errorf("make the store anew: %w", err), os.RemoveAll(fresh.Dir()))
	}
	h.mu.Lock()
	h.successor = fresh.Dir()
	h.mu.Unlock()
	if h.opts.onSuccessor != nil {
		h.opts.onSuccessor(h)
	}
	return nil
}

// fill indexes the codebases whose trees are there into a store and closes it. One that
// cannot be indexed is left to its next sync.
func (h *Host) fill(ctx context.Context, fresh *sqlitestore.Store) error {
	k := h.kit()
	k.live = nil // its vectors are in the new store
	b, err := benchOver(ctx, h.workCtx, k, fresh)
	if err != nil {
		return err
	}
	codebases, err := fresh.Codebases(ctx)
	for _, c := range codebases {
		if !h.here(c) {
			continue
		}
		if _, ferr := b.rebuild(ctx, c); ferr != nil {
			h.opts.Log.Warn("codebase is not in the new store yet", "codebase", c.ID, "error", ferr)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(err, ctx.Err(), b.end())
}

// retiring reports whether another store waits to take the place of this host's, and so
// another host the place of this one.
func (h *Host) retiring() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.successor != ""
}

// tellEvery is the time between two notices of what a call waits for.
const tellEvery = 5 * time.Second

// tell tells the observer what is waited for and since when, until the returned function is
// called.
func tell(ctx context.Context, observe tool.Observer, what string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	since, done := time.Now(), make(chan struct{})
	go func() { // ends with the returned function, which waits for it
		defer close(done)
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				text := fmt.Sprintf("waiting for %s: %s", time.Since(since).Round(time.Second), what)
				if observe(tool.Notice{Waiting: text}) != nil {
					return
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

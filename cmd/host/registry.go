package host

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// registry adds and removes codebases.
type registry struct{ *Host }

// Register adds the directory at an absolute path, or returns the codebase registered
// there.
func (r registry) Register(ctx context.Context, root string, p tool.Permit) (store.Codebase, error) {
	resolved, err := r.admit(ctx, root, p)
	if err != nil {
		return store.Codebase{}, err
	}
	identity, err := scan.Identity(resolved)
	if err != nil {
		return store.Codebase{}, fmt.Errorf("register %s: %w", merkle.QuotePath(root), err)
	}
	codebases, err := r.store.Codebases(ctx)
	if err != nil {
		return store.Codebase{}, err
	}
	for _, c := range codebases {
		if c.Root == resolved && r.here(c) {
			return c, nil
		}
	}
	c, err := r.store.Register(ctx, store.Codebase{
		ID: newID(), Name: freeName(codebases, resolved), Place: r.place(), Root: resolved, Identity: identity,
		RegisteredAt: r.opts.Now().UTC(),
	})
	if err != nil {
		return c, fmt.Errorf("register %s: %w", merkle.QuotePath(resolved), err)
	}
	e := event.RegisteredCodebase(event.Event{Codebase: c.ID, At: c.RegisteredAt}, c.Name, c.Root)
	return c, r.announce(ctx, e)
}

// Admits returns nil when Register would take a directory.
func (r registry) Admits(ctx context.Context, root string, p tool.Permit) error {
	_, err := r.admit(ctx, root, p)
	return err
}

// Clear cancels what runs and removes the codebase with its index.
func (r registry) Clear(ctx context.Context, id store.CodebaseID) error {
	c, err := r.store.Codebase(ctx, id)
	if err != nil {
		return err
	}
	if _, op := r.ops.cancelled(id); op != nil {
		select {
		case <-op.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.followers.Unfollow(id)
	if err := r.store.Clear(ctx, id); err != nil {
		return fmt.Errorf("clear %s: %w", id, err)
	}
	if err := r.pipeline.Outbox.Flush(ctx); err != nil { // what was committed of it is not to come later
		return fmt.Errorf("publish what is left of %s: %w", id, err)
	}
	if err := r.pipeline.Keeper.Purge(ctx, id, 0); err != nil {
		return fmt.Errorf("purge events of %s: %w", id, err)
	}
	if err := r.dropLetters(ctx, id); err != nil {
		return fmt.Errorf("drop dead letters of %s: %w", id, err)
	}
	if _, err := r.pipeline.Keeper.Collect(ctx, false); err != nil {
		return err
	}
	err = r.announce(ctx, event.ClearedCodebase(event.Event{Codebase: c.ID, At: r.opts.Now()}, c.Name, c.Root))
	return errors.Join(err, r.scrub(ctx))
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

// dropLetters drops the dead letters of a codebase.
func (r registry) dropLetters(ctx context.Context, id store.CodebaseID) error {
	letters, err := r.bus.DeadLetters(ctx)
	if err != nil {
		return err
	}
	for _, l := range letters {
		if l.Codebase != id {
			continue
		}
		if err := r.bus.DropDeadLetter(ctx, l.Letter); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// announce commits an event that accompanies no other rows and publishes it.
func (h *Host) announce(ctx context.Context, e event.Event) error {
	data, err := event.Encode(e)
	if err != nil {
		return fmt.Errorf("encode %s: %w", e.Type, err)
	}
	err = h.store.PutOutbox(ctx, []store.OutboxEvent{{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data}})
	if err != nil {
		return fmt.Errorf("commit %s: %w", e.Type, err)
	}
	return h.pipeline.Outbox.Flush(ctx)
}

// newID makes the id of a codebase: 80 random bits in [a-z2-7].
func newID() store.CodebaseID {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return store.CodebaseID("c" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])))
}

// freeName is the last element of a root, with a number when another codebase has it.
func freeName(codebases []store.Codebase, root string) string {
	taken := map[string]bool{}
	for _, c := range codebases {
		taken[c.Name] = true
	}
	base := merkle.QuotePath(filepath.Base(root))
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

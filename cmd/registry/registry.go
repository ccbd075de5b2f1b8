// Package registry adds and removes codebases, and says which directories may be one.
package registry

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Store keeps the codebases; a store.Store is one.
type Store interface {
	Codebases(ctx context.Context) ([]store.Codebase, error)
	Codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error)
	Register(ctx context.Context, c store.Codebase) (store.Codebase, error)
	Clear(ctx context.Context, id store.CodebaseID) error
	PutOutbox(ctx context.Context, events []store.OutboxEvent) error
}

// Cleaner removes what is left of codebases that were cleared; maintenance.Maintenance is one.
type Cleaner interface {
	Forget(ctx context.Context, id store.CodebaseID) error
}

// Registry adds and removes codebases. All fields are required.
type Registry struct {
	Store Store
	// Home is the data directory, which no codebase may be in.
	Home string
	// Place is the file system that roots of this process are paths of, and Here reports
	// whether a codebase is on it.
	Place string
	Here  func(store.Codebase) bool
	// Stop ends the work on a codebase: its operation and its synchronizer.
	Stop func(ctx context.Context, id store.CodebaseID) error
	// Publish publishes what the outbox holds.
	Publish func(ctx context.Context) error
	Cleaner Cleaner
	// Scrub takes what was deleted out of the files of the store.
	Scrub func(ctx context.Context) error
	Now   func() time.Time
}

// Admits returns nil when Register would take a directory.
func (r *Registry) Admits(ctx context.Context, root string, p tool.Permit) error {
	_, err := r.Admit(ctx, root, p)
	return err
}

// Register adds the directory at an absolute path, or returns the codebase registered
// there.
func (r *Registry) Register(ctx context.Context, root string, p tool.Permit) (store.Codebase, error) {
	resolved, err := r.Admit(ctx, root, p)
	if err != nil {
		return store.Codebase{}, err
	}
	identity, err := scan.Identity(resolved)
	if err != nil {
		return store.Codebase{}, fmt.Errorf("register %s: %w", merkle.QuotePath(root), err)
	}
	codebases, err := r.Store.Codebases(ctx)
	if err != nil {
		return store.Codebase{}, err
	}
	for _, c := range codebases {
		if c.Root == resolved && r.Here(c) {
			return c, nil
		}
	}
	c, err := r.Store.Register(ctx, store.Codebase{
		ID: newID(), Name: freeName(codebases, resolved), Place: r.Place, Root: resolved, Identity: identity,
		RegisteredAt: r.Now().UTC(),
	})
	if err != nil {
		return c, fmt.Errorf("register %s: %w", merkle.QuotePath(resolved), err)
	}
	e := event.RegisteredCodebase(event.Event{Codebase: c.ID, At: c.RegisteredAt}, c.Name, c.Root)
	return c, r.announce(ctx, e)
}

// Clear cancels what runs and removes the codebase with its index.
func (r *Registry) Clear(ctx context.Context, id store.CodebaseID) error {
	c, err := r.Store.Codebase(ctx, id)
	if err != nil {
		return err
	}
	if err := r.Stop(ctx, id); err != nil {
		return err
	}
	if err := r.Store.Clear(ctx, id); err != nil {
		return fmt.Errorf("clear %s: %w", id, err)
	}
	if err := r.Publish(ctx); err != nil { // what was committed of it is not to come later
		return fmt.Errorf("publish what is left of %s: %w", id, err)
	}
	if err := r.Cleaner.Forget(ctx, id); err != nil {
		return err
	}
	err = r.announce(ctx, event.ClearedCodebase(event.Event{Codebase: c.ID, At: r.Now()}, c.Name, c.Root))
	return errors.Join(err, r.Scrub(ctx))
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

// announce commits an event that accompanies no other rows and publishes it.
func (r *Registry) announce(ctx context.Context, e event.Event) error {
	data, err := event.Encode(e)
	if err != nil {
		return fmt.Errorf("encode %s: %w", e.Type, err)
	}
	err = r.Store.PutOutbox(ctx, []store.OutboxEvent{{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data}})
	if err != nil {
		return fmt.Errorf("commit %s: %w", e.Type, err)
	}
	return r.Publish(ctx)
}

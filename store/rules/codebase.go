package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
)

// Register adds a codebase, or returns the one that has its root in its place; see
// store.Writer.
func Register(ctx context.Context, rows CodebaseRows, asked store.Codebase, now time.Time) (store.Codebase, error) {
	c, err := rows.CodebaseAt(ctx, asked.Place, asked.Root)
	if !errors.Is(err, store.ErrNotFound) {
		return c, err
	}
	if err := store.ValidCodebaseID(asked.ID); err != nil {
		return store.Codebase{}, err
	}
	made := store.Codebase{
		ID: asked.ID, Name: asked.Name, Place: asked.Place, Root: asked.Root, Identity: asked.Identity, RegisteredAt: Instant(now),
	}
	added, err := rows.AddCodebase(ctx, made)
	if err != nil {
		return store.Codebase{}, fmt.Errorf("register codebase %s: %w", asked.ID, err)
	}
	if added {
		return made, nil
	}
	// Another process may have registered the root after it was looked for.
	c, err = rows.CodebaseAt(ctx, asked.Place, asked.Root)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("register codebase %s: the id has another root: %w", asked.ID, store.ErrConflict)
	}
	return c, err
}

// Clear removes a codebase; see store.Writer. What only its snapshots name has no grace any
// more.
func Clear(ctx context.Context, rows CodebaseRows, id store.CodebaseID) error {
	if _, err := rows.Codebase(ctx, id); errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	err := inOrder(
		func() error { return rows.EndGraceOf(ctx, id) },
		func() error { return rows.DropCodebase(ctx, id) },
		func() error { return rows.DropSessions(ctx) },
	)
	if err != nil {
		return fmt.Errorf("clear codebase %s: %w", id, err)
	}
	return nil
}

// SortCodebases sorts codebases as store.Reader lists them.
func SortCodebases(all []store.Codebase) {
	slices.SortFunc(all, func(a, b store.Codebase) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

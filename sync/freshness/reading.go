package freshness

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Reader is what a reading is made from; a store.Reader is one.
type Reader interface {
	store.SnapshotReader
	Epoch() string
	View(ctx context.Context, id store.CodebaseID, number uint64) (store.View, error)
	Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error)
	LogPosition(ctx context.Context) (store.LogPosition, error)
	Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error)
}

// Reading is the outcome of a check: what was proven, and what to read.
type Reading struct {
	Verdict search.Verdict
	// View is the sealed snapshot to read, nil while nothing is sealed.
	View *store.View
	// CanEmbed is set when queries are embedded under the recipe of the view.
	CanEmbed bool
}

// served completes a verdict with the snapshot that is served.
func (c *Checker) served(ctx context.Context, id store.CodebaseID, verdict search.Verdict) (Reading, error) {
	if c.Followers.takeReplaced(id) {
		verdict.Warnings = append(verdict.Warnings, search.Warning{Code: "root_replaced",
			Message: "another directory stands at the root since the last check; it was taken for the codebase's, and every file of it was read"})
	}
	verdict.Warnings = append(verdict.Warnings, c.Warnings(id, verdict.State)...)
	snapshot, err := store.Served(ctx, c.Reads, id)
	if errors.Is(err, store.ErrNoSnapshot) {
		return Reading{Verdict: verdict}, nil
	}
	if err != nil {
		return Reading{Verdict: verdict}, err
	}
	return c.read(ctx, snapshot, verdict)
}

// retained reads a snapshot that was asked for by its number.
func (c *Checker) retained(ctx context.Context, id store.CodebaseID, number uint64) (Reading, error) {
	snapshot, err := c.Reads.Snapshot(ctx, id, number)
	if err != nil {
		return Reading{}, fmt.Errorf("snapshot %d: %w", number, err)
	}
	return c.read(ctx, snapshot, search.Verdict{State: search.Unchecked, Reason: fmt.Sprintf("snapshot %d was asked for", number)})
}

// read completes a verdict with a sealed snapshot.
func (c *Checker) read(ctx context.Context, snapshot store.Snapshot, v search.Verdict) (Reading, error) {
	r, id := Reading{Verdict: v}, snapshot.Codebase
	view, err := c.Reads.View(ctx, id, snapshot.Number)
	if err != nil {
		return r, fmt.Errorf("view of snapshot %d: %w", snapshot.Number, err)
	}
	indexed, err := c.Reads.Recipe(ctx, snapshot.Fingerprint)
	if err != nil {
		return r, fmt.Errorf("recipe of snapshot %d: %w", snapshot.Number, err)
	}
	position, err := c.Reads.LogPosition(ctx)
	if err != nil {
		return r, err
	}
	failures, err := c.Reads.Failures(ctx, id)
	if err != nil {
		return r, err
	}
	v.Root, v.Snapshot, v.Level, v.Fingerprint = snapshot.Root, snapshot.Number, snapshot.Level, snapshot.Fingerprint
	v.Token = search.Token{Epoch: c.Reads.Epoch(), Codebase: id, Snapshot: snapshot.Number, Root: snapshot.Root}
	v.Sequence = position.Sequence
	v.Requires = indexed.Diff(c.Recipe)
	for _, f := range failures {
		if f.Parked {
			v.Parked++
		}
	}
	return Reading{Verdict: v, View: &view, CanEmbed: indexed.Embedding == c.Recipe.Embedding}, nil
}

// Package verify compares an index with what it ought to be: its canonical lines, those of a
// clean rebuild of the tree beside it, and those of a replay of the event log.
package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/eventlog"
	"github.com/freshet/freshet/cmd/scratch"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/canon"
	"github.com/freshet/freshet/sync/freshness"
	"github.com/freshet/freshet/sync/merkle"
)

// Followers give the synchronizer of a codebase; see freshness.Followers.
type Followers interface {
	Follow(id store.CodebaseID) (freshness.Synchronizer, error)
	Unfollow(id store.CodebaseID)
}

// Verifier compares the index that Store holds with what it ought to be. All fields are
// required.
type Verifier struct {
	Store     store.Store
	Recipe    store.Recipe // in force
	Followers Followers
	Settler   freshness.Settler
	// Here reports whether this process sees the tree of a codebase.
	Here func(store.Codebase) bool
	// Load loads the files of a manifest as their segments hold them.
	Load canon.Load
	// Scratch opens an empty index, which the caller closes.
	Scratch func(ctx context.Context) (*scratch.Index, error)
	// Log is the event log of the index.
	Log eventlog.Log
	// Local says that vectors are made on this machine, so that none is paid for.
	Local bool
	// Kept names the damaged stores that were set aside.
	Kept func() []string
}

// Export writes the canonical lines of the served snapshot, the digest last.
func (w *Verifier) Export(ctx context.Context, id store.CodebaseID, write func(text string) error) (tool.Export, error) {
	served, err := store.Served(ctx, w.Store, id)
	if err != nil {
		return tool.Export{}, err
	}
	recipe, err := w.Store.Recipe(ctx, served.Fingerprint)
	if err != nil {
		return tool.Export{}, fmt.Errorf("recipe of snapshot %d: %w", served.Number, err)
	}
	var emit func(string) error
	if write != nil {
		emit = func(line string) error { return write(line + "\n") }
	}
	digest, lines, err := canon.Export(ctx, w.Store, id, served.Number, canon.Options{Recipe: recipe}, emit)
	if err != nil {
		return tool.Export{}, fmt.Errorf("export snapshot %d: %w", served.Number, err)
	}
	if emit != nil {
		if err := emit("digest " + digest); err != nil {
			return tool.Export{}, err
		}
	}
	return tool.Export{Snapshot: served.Number, Lines: lines, Digest: digest}, nil
}

// Verify brings the index up to the tree, rebuilds the tree in an empty store beside it,
// and compares both the canonical lines and the entries of the retrieval segments. It
// compares one root with itself. The caller has found the database intact.
func (w *Verifier) Verify(ctx context.Context, id store.CodebaseID, repair bool) (tool.Verification, error) {
	synchronizer, err := w.Followers.Follow(id)
	if err != nil {
		return tool.Verification{}, err
	}
	v, err := w.compare(ctx, id, synchronizer)
	if err == nil && repair && (!v.Equal || store.IsDamage(w.segmentsOnDisk(ctx))) {
		if err = w.repair(ctx, id, v.DigestIndex != v.DigestRebuilt); err != nil {
			err = fmt.Errorf("repair: %w", err)
		} else {
			v.Repaired = true
		}
	}
	v.Kept = w.Kept()
	return v, advice.Damage(id, err)
}

// Intact checks the database of a store that is the data directory's own, on disk. A
// verification begins with it and waits for nothing before: over damage nothing may be sealed.
// For a repair, an error says that the store is to be made anew.
func (w *Verifier) Intact(ctx context.Context) error {
	local, ok := w.Store.(interface {
		CheckDatabase(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	return local.CheckDatabase(ctx)
}

// segmentsOnDisk checks the files of the segments of a store that is the data directory's own:
// one that was removed or replaced while it is open is whole in memory.
func (w *Verifier) segmentsOnDisk(ctx context.Context) error {
	local, ok := w.Store.(interface {
		CheckSegments(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	return local.CheckSegments(ctx)
}

// compare rebuilds the tree and lists what differs.
func (w *Verifier) compare(ctx context.Context, id store.CodebaseID, live freshness.Synchronizer) (v tool.Verification, err error) {
	codebase, err := w.Store.Codebase(ctx, id)
	if err != nil {
		return v, err
	}
	if !w.Here(codebase) {
		return v, advice.Elsewhere(codebase)
	}
	beside, err := w.Scratch(ctx)
	if err != nil {
		return v, fmt.Errorf("open a store for the rebuild: %w", err)
	}
	defer func() { err = errors.Join(err, beside.Close()) }()
	served, number, err := w.align(ctx, codebase, live, beside)
	if err != nil {
		return v, err
	}
	d := differ{verification: tool.Verification{Differences: []tool.Difference{}}}
	options := canon.Options{Recipe: w.Recipe}
	index, rebuilt := d.side("index"), d.side("rebuilt")
	if d.verification.DigestIndex, _, err = canon.Export(ctx, w.Store, id, served.Number, options, index.add); err != nil {
		return v, fmt.Errorf("export the index: %w", err)
	}
	if d.verification.DigestRebuilt, _, err = canon.Export(ctx, beside.Store(), codebase.ID, number, options, rebuilt.add); err != nil {
		return v, fmt.Errorf("export the rebuild: %w", err)
	}
	if err := d.compare(index, rebuilt); err != nil {
		return v, err
	}
	err = canon.CheckSegments(ctx, w.Store, id, served.Number, options, w.Load, func(path, what string) {
		d.note(tool.Difference{Side: "index", Path: merkle.QuotePath(path), Line: what})
	})
	if err != nil {
		return v, fmt.Errorf("check segments: %w", err)
	}
	d.verification.Equal = d.verification.DigestIndex == d.verification.DigestRebuilt && d.verification.DifferenceCount == 0
	return d.verification, nil
}

// How often the index and the rebuild look for one tree that both have, and in how many
// looks in a row a tree that does not move must have two roots before that is a difference
// and not an edit that was taken back.
const (
	alignTries = 60
	alignSure  = 4
)

// align has the index and the rebuild take in the tree in turns until both have the same
// root, which an edit in between prevents. It returns the two snapshots. They have different
// roots only when the tree stood still and index and rebuild see it differently all the same,
// or when an older snapshot is served.
func (w *Verifier) align(ctx context.Context, codebase store.Codebase, live freshness.Synchronizer, b *scratch.Index) (served store.Snapshot, number uint64, err error) {
	rebuild, err := b.Synchronizer(ctx, codebase)
	if err != nil {
		return served, 0, fmt.Errorf("rebuild: %w", err)
	}
	var before [2]merkle.Hash // the roots of the last look
	still := 0
	for range alignTries {
		seen, err := live.Check(ctx)
		if err != nil {
			return served, 0, advice.RootCode(codebase.ID, err)
		}
		if seen, err = w.Settler.Settle(ctx, codebase.ID, live, seen); err != nil {
			return served, 0, err
		}
		if number, err = b.CatchUp(ctx, codebase.ID, rebuild); err != nil {
			return served, 0, fmt.Errorf("rebuild: %w", err)
		}
		built, err := b.Store().Snapshot(ctx, codebase.ID, number)
		if err != nil {
			return served, 0, fmt.Errorf("rebuild: %w", err)
		}
		if served, err = store.Served(ctx, w.Store, codebase.ID); err != nil {
			return served, 0, err
		}
		if served.Root == built.Root {
			return served, number, nil
		}
		if looked := [2]merkle.Hash{seen.Root, built.Root}; looked == before {
			still++
		} else {
			before, still = looked, 1
		}
		if still == alignSure {
			return served, number, nil
		}
	}
	return served, 0, tool.Errorf(tool.CodeSourceChanged,
		"the tree changed during each of %d looks at it, so that no state of it could be compared; nothing says that the index is wrong", alignTries).
		Next(advice.Command(fmt.Sprintf("freshet verify %s", codebase.ID), "compares when the tree is edited less often"))
}

// repair makes the segments of a codebase again. With rows, what was derived from its files
// is thrown away first, but not the vectors of a provider over a network: they are kept by
// text, belong to no codebase, and are paid for. Without, all of it is right.
func (w *Verifier) repair(ctx context.Context, id store.CodebaseID, rows bool) error {
	if rows {
		if err := w.Store.Forget(ctx, id, w.Local); err != nil {
			return err
		}
	}
	w.Followers.Unfollow(id)
	synchronizer, err := w.Followers.Follow(id)
	if err != nil {
		return err
	}
	seen, err := synchronizer.Rebuild(ctx)
	if err != nil {
		return err
	}
	_, err = w.Settler.Settle(ctx, id, synchronizer, seen)
	return err
}

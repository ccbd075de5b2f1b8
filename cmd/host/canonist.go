package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/canon"
	"github.com/freshet/freshet/sync/freshness"
	"github.com/freshet/freshet/sync/merkle"
)

// canonist compares the index with what it ought to be.
type canonist struct{ *Host }

// Export writes the canonical lines of the served snapshot, the digest last.
func (c canonist) Export(ctx context.Context, id store.CodebaseID, write func(text string) error) (tool.Export, error) {
	served, err := store.Served(ctx, c.reads, id)
	if err != nil {
		return tool.Export{}, err
	}
	recipe, err := c.store.Recipe(ctx, served.Fingerprint)
	if err != nil {
		return tool.Export{}, fmt.Errorf("recipe of snapshot %d: %w", served.Number, err)
	}
	var emit func(string) error
	if write != nil {
		emit = func(line string) error { return write(line + "\n") }
	}
	digest, lines, err := canon.Export(ctx, c.store, id, served.Number, canon.Options{Recipe: recipe}, emit)
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

// maxDifferences is how many differing lines a verification names.
const maxDifferences = 100

// Verify brings the index up to the tree, rebuilds the tree in an empty store beside it,
// and compares both the canonical lines and the entries of the retrieval segments. It
// compares one root with itself. With repair, damage of the database is returned as an
// error: the store is to be made anew then.
func (c canonist) Verify(ctx context.Context, id store.CodebaseID, repair bool) (tool.Verification, error) {
	if repair {
		if err := c.intact(ctx); err != nil {
			return tool.Verification{}, advice.Damage(id, err)
		}
	}
	synchronizer, err := c.followers.Follow(id)
	if err != nil {
		return tool.Verification{}, err
	}
	v, err := c.compare(ctx, id, synchronizer)
	if err == nil && !v.Equal && repair {
		if err = c.repair(ctx, id, v.DigestIndex != v.DigestRebuilt); err != nil {
			err = fmt.Errorf("repair: %w", err)
		} else {
			v.Repaired = true
		}
	}
	v.Kept = datadir.AsideNotes(c.opts.Home)
	return v, advice.Damage(id, err)
}

// intact checks the database of a store that is the data directory's own.
func (c canonist) intact(ctx context.Context) error {
	local, ok := c.store.(interface {
		CheckDatabase(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	return local.CheckDatabase(ctx)
}

// compare rebuilds the tree and lists what differs.
func (c canonist) compare(ctx context.Context, id store.CodebaseID, live freshness.Synchronizer) (v tool.Verification, err error) {
	codebase, err := c.store.Codebase(ctx, id)
	if err != nil {
		return v, err
	}
	if !c.here(codebase) {
		return v, advice.Elsewhere(codebase)
	}
	bench, err := openBench(ctx, c.workCtx, c.kit())
	if err != nil {
		return v, fmt.Errorf("open a store for the rebuild: %w", err)
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	served, number, err := c.align(ctx, codebase, live, bench)
	if err != nil {
		return v, err
	}
	d := differ{verification: tool.Verification{Differences: []tool.Difference{}}}
	options := canon.Options{Recipe: c.recipe}
	index, rebuilt := d.side("index"), d.side("rebuilt")
	if d.verification.DigestIndex, _, err = canon.Export(ctx, c.store, id, served.Number, options, index.add); err != nil {
		return v, fmt.Errorf("export the index: %w", err)
	}
	if d.verification.DigestRebuilt, _, err = canon.Export(ctx, bench.store, codebase.ID, number, options, rebuilt.add); err != nil {
		return v, fmt.Errorf("export the rebuild: %w", err)
	}
	if err := d.compare(index, rebuilt); err != nil {
		return v, err
	}
	err = canon.CheckSegments(ctx, c.store, id, served.Number, options, c.pipeline.Sealer.Load, func(path, what string) {
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
func (c canonist) align(ctx context.Context, codebase store.Codebase, live freshness.Synchronizer, b *bench) (served store.Snapshot, number uint64, err error) {
	rebuild, err := b.synchronizer(ctx, codebase)
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
		if seen, err = c.settler().Settle(ctx, codebase.ID, live, seen); err != nil {
			return served, 0, err
		}
		if number, err = b.catchUp(ctx, codebase.ID, rebuild); err != nil {
			return served, 0, fmt.Errorf("rebuild: %w", err)
		}
		built, err := b.store.Snapshot(ctx, codebase.ID, number)
		if err != nil {
			return served, 0, fmt.Errorf("rebuild: %w", err)
		}
		if served, err = store.Served(ctx, c.reads, codebase.ID); err != nil {
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
// is thrown away first; without, all of it is right and a provider is asked for nothing.
func (c canonist) repair(ctx context.Context, id store.CodebaseID, rows bool) error {
	if rows {
		if err := c.store.Forget(ctx, id); err != nil {
			return err
		}
	}
	c.followers.Unfollow(id)
	synchronizer, err := c.followers.Follow(id)
	if err != nil {
		return err
	}
	seen, err := synchronizer.Rebuild(ctx)
	if err != nil {
		return err
	}
	_, err = c.settler().Settle(ctx, id, synchronizer, seen)
	return err
}

// Replay rebuilds from the live log or from a recorded file in an empty store.
func (c canonist) Replay(ctx context.Context, r tool.Replaying) (digests []tool.CodebaseDigest, err error) {
	source, err := c.source(ctx, r)
	if err != nil {
		return nil, err
	}
	steps, err := history.Fold(source.Events)
	if err != nil {
		return nil, tool.Errorf(tool.CodeInvalidArgument, "%w; record again, or widen the range", err)
	}
	if len(steps) == 0 {
		return nil, tool.Errorf(tool.CodeNotIndexed, "there is no snapshot to replay; index a directory first")
	}
	bench, err := openBench(ctx, c.workCtx, c.kit())
	if err != nil {
		return nil, fmt.Errorf("open a store for the replay: %w", err)
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	done, err := history.Replay(ctx, bench.target(), steps, source.content)
	if err != nil {
		return nil, err
	}
	names := map[store.CodebaseID]string{}
	codebases, err := c.store.Codebases(ctx)
	if err != nil {
		return nil, err
	}
	for _, known := range codebases {
		names[known.ID] = known.Name
	}
	for _, d := range done {
		digests = append(digests, tool.CodebaseDigest{
			Codebase: d.Codebase, Name: names[d.Codebase], Snapshot: d.Snapshot, Files: d.Files, Digest: d.Digest,
		})
	}
	return digests, nil
}

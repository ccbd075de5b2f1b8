package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/canon"
	"github.com/freshet/freshet/sync/merkle"
)

// Target is the empty store that a replay fills, with the pipeline over it.
type Target struct {
	Store  store.Store
	Recipe store.Recipe
	// Publish moves what is in the outbox to the pipeline's bus.
	Publish func(ctx context.Context) error
	// Settled waits until a snapshot is sealed full.
	Settled func(ctx context.Context, id store.CodebaseID, number uint64) error
	// VectorsByKey is that of canon.Options.
	VectorsByKey bool
}

// Contents gives a content by its hash, or store.ErrNotFound.
type Contents func(ctx context.Context, h merkle.Hash) ([]byte, error)

// Digest is the canonical digest of a codebase after a replay.
type Digest struct {
	Codebase store.CodebaseID
	Snapshot uint64
	Files    int
	Digest   string
}

// Replay opens each step in the target under the target's recipe, waits for its seal, and
// returns the digest of each codebase at its end. Snapshots are numbered anew from 1. It
// checks the root of each step, so that a damaged history is an error and not another
// digest.
func Replay(ctx context.Context, t Target, steps []Step, contents Contents) ([]Digest, error) {
	var digests []Digest
	for len(steps) > 0 {
		id := steps[0].Codebase
		end := slices.IndexFunc(steps, func(s Step) bool { return s.Codebase != id })
		if end < 0 {
			end = len(steps)
		}
		digest, err := replayCodebase(ctx, t, steps[:end], contents)
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", id, err)
		}
		digests = append(digests, digest)
		steps = steps[end:]
	}
	return digests, nil
}

func replayCodebase(ctx context.Context, t Target, steps []Step, contents Contents) (Digest, error) {
	id := steps[0].Codebase
	if !steps[0].Opened.Rebuild {
		return Digest{}, fmt.Errorf("%w: it begins at snapshot %d, which is not a whole one", ErrIncomplete, steps[0].Snapshot)
	}
	_, err := t.Store.Register(ctx, store.Codebase{ID: id, Name: string(id), Root: "/" + string(id)})
	if err != nil {
		return Digest{}, err
	}
	manifest := map[string]store.FileEntry{}
	for i, step := range steps {
		if err := replayStep(ctx, t, uint64(i+1), step, manifest, contents); err != nil {
			return Digest{}, fmt.Errorf("snapshot %d: %w", step.Snapshot, err)
		}
	}
	digest, _, err := canon.Export(ctx, t.Store, id, uint64(len(steps)), canon.Options{Recipe: t.Recipe, VectorsByKey: t.VectorsByKey}, nil)
	return Digest{Codebase: id, Snapshot: steps[len(steps)-1].Snapshot, Files: len(manifest), Digest: digest}, err
}

// replayStep changes the manifest by a step and opens the snapshot.
func replayStep(ctx context.Context, t Target, number uint64, step Step, manifest map[string]store.FileEntry, contents Contents) error {
	before := maps.Clone(manifest)
	if step.Opened.Rebuild {
		clear(manifest)
	}
	for _, path := range step.Removed {
		delete(manifest, path)
	}
	for _, entry := range step.Changed {
		manifest[entry.Path] = entry
	}
	opening := store.Opening{
		Codebase: step.Codebase, Number: number, Parent: number - 1, Recipe: t.Recipe,
		Rebuild: step.Opened.Rebuild, Ref: step.Opened.Ref, At: step.At.At,
	}
	tree, err := merkle.Build(func(yield func(string, merkle.Leaf) bool) {
		for path, entry := range manifest {
			if !yield(path, merkle.Leaf{Content: entry.Content}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if opening.Root = tree.Root(); opening.Root != step.Opened.Root {
		return fmt.Errorf("%w: the files give root %s, the event says %s", ErrIncomplete, opening.Root.Short(), step.Opened.Root.Short())
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if _, ok := manifest[path]; !ok {
			opening.Removes = append(opening.Removes, path)
		}
	}
	for _, entry := range step.Changed {
		if old, ok := before[entry.Path]; !step.Opened.Rebuild || !ok || old.Content != entry.Content {
			opening.Upserts = append(opening.Upserts, entry)
		}
	}
	if err := putContents(ctx, t.Store, step.Changed, contents); err != nil {
		return err
	}
	return open(ctx, t, opening, step)
}

func putContents(ctx context.Context, s store.Store, files []store.FileEntry, contents Contents) error {
	for page := range slices.Chunk(files, 64) {
		var batch []store.Content
		for _, f := range page {
			data, err := contents(ctx, f.Content)
			if errors.Is(err, store.ErrNotFound) {
				continue // the stage parks the file, as it did then
			}
			if err != nil {
				return err
			}
			batch = append(batch, store.Content{Hash: f.Content, Data: data})
		}
		if err := s.PutContents(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// open opens the snapshot, unparks and parks the files that were, and waits for its seal.
func open(ctx context.Context, t Target, o store.Opening, step Step) error {
	fingerprint := t.Recipe.Fingerprint()
	for _, p := range step.Unparked {
		path, err := merkle.UnquotePath(p.Path)
		if err != nil {
			return err
		}
		if _, err := t.Store.ForgetFailures(ctx, o.Codebase, path); err != nil {
			return err
		}
	}
	for _, p := range step.Parked {
		path, err := merkle.UnquotePath(p.Path)
		if err != nil {
			return err
		}
		_, err = t.Store.RecordFailure(ctx, store.Failure{
			Codebase: o.Codebase, Path: path, Content: p.Content, Stage: p.Stage,
			Version: versionOf(t.Recipe, step, path, p.Stage), Reason: p.Reason, At: o.At,
		}, true, nil)
		if err != nil {
			return err
		}
	}
	files := make([]event.File, len(step.Changed))
	for i, e := range step.Changed {
		files[i] = event.FileOf(e)
	}
	removed := make([]string, len(o.Removes))
	for i, path := range o.Removes {
		removed[i] = merkle.QuotePath(path)
	}
	for _, e := range event.Opening(
		event.Event{Codebase: o.Codebase, Snapshot: o.Number, Fingerprint: fingerprint, At: o.At},
		event.Opened{Parent: o.Parent, Root: o.Root, Rebuild: o.Rebuild, Ref: o.Ref, Recipe: t.Recipe}, files, removed) {
		data, err := event.Encode(e)
		if err != nil {
			return err
		}
		o.Events = append(o.Events, store.OutboxEvent{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data})
	}
	if _, err := t.Store.Open(ctx, o); err != nil {
		return err
	}
	if err := t.Publish(ctx); err != nil {
		return err
	}
	return t.Settled(ctx, o.Codebase, o.Number)
}

// versionOf is the version under which a failure counts in the recipe of the target.
func versionOf(r store.Recipe, step Step, path string, stage store.Stage) string {
	if stage == store.StageEmbed {
		return r.Embedding.Key()
	}
	for _, e := range step.Changed {
		if e.Path == path {
			return r.SyntaxVersion(e.Language)
		}
	}
	return r.SyntaxVersion("")
}

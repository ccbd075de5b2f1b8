package tooltest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// Codebases implements tool.Catalog.
func (w *World) Codebases(context.Context) ([]store.Codebase, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []store.Codebase
	for _, id := range slices.Sorted(maps.Keys(w.codebases)) {
		all = append(all, w.codebases[id].Codebase)
	}
	return all, nil
}

// Snapshots implements tool.Catalog.
func (w *World) Snapshots(_ context.Context, id store.CodebaseID) ([]store.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.codebase(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.snapshots), nil
}

// Manifest implements tool.Catalog.
func (w *World) Manifest(_ context.Context, id store.CodebaseID, number uint64) iter.Seq2[store.FileEntry, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	files := map[string]store.FileEntry{}
	if c, ok := w.codebases[id]; ok {
		files = maps.Clone(c.manifests[number])
	}
	return func(yield func(store.FileEntry, error) bool) {
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if !yield(files[path], nil) {
				return
			}
		}
	}
}

// Content implements tool.Contents.
func (w *World) Content(_ context.Context, h merkle.Hash) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, ok := w.contents[h]
	for _, c := range w.codebases {
		for _, path := range w.Damaged {
			if c.manifests[c.Current][path].Content == h {
				return nil, fmt.Errorf("content %s: %w", h.Short(), store.ErrCorrupt)
			}
		}
	}
	if !ok {
		return nil, fmt.Errorf("content %s: %w", h.Short(), store.ErrNotFound)
	}
	return data, nil
}

// File implements tool.Contents.
func (w *World) File(_ context.Context, id store.CodebaseID, number uint64, path string) (store.FileEntry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.codebase(id)
	if err != nil {
		return store.FileEntry{}, err
	}
	entry, ok := c.manifests[number][path]
	if !ok {
		return entry, fmt.Errorf("file %s: %w", path, store.ErrNotFound)
	}
	return entry, nil
}

// Syntax implements tool.Contents: a line that begins with "func NAME(" or "type NAME"
// begins a definition, which ends before the next line that begins with neither a blank
// nor a bracket. A line of comment above it is its doc. In its lines "call NAME" is a call.
func (w *World) Syntax(_ context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[store.SyntaxKey]store.Syntax{}
	for _, key := range keys {
		if data, ok := w.contents[key.Content]; ok && !w.Unparsed {
			found[key] = parse(string(data))
		}
	}
	return found, nil
}

// Recipe implements tool.Contents.
func (w *World) Recipe(_ context.Context, fp store.Fingerprint) (store.Recipe, error) {
	for _, r := range w.Recipes {
		if r.Fingerprint() == fp {
			return r, nil
		}
	}
	return store.Recipe{}, nil
}

// Check implements tool.Checker: it seals what changed, unless a knob is in the way.
func (w *World) Check(_ context.Context, id store.CodebaseID, o tool.CheckOptions) (tool.Reading, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.codebase(id)
	if err != nil {
		return tool.Reading{}, err
	}
	verdict := search.Verdict{State: search.Unchecked}
	if o.Mode != tool.ModeEventual {
		if w.Down != nil {
			return tool.Reading{}, w.Down
		}
		verdict = w.verdict(c, o)
	}
	verdict.Requires, verdict.Parked = w.Requires, w.Parked
	reading := tool.Reading{Verdict: verdict, CanEmbed: !w.CannotEmbed, Running: w.Running}
	if c.Current == 0 {
		return reading, nil
	}
	number := c.Current
	if o.At != 0 {
		number = o.At
	}
	served, err := c.snapshot(number)
	if err != nil {
		return reading, err
	}
	v := &reading.Verdict
	v.Snapshot, v.Root, v.Level, v.Fingerprint = served.Number, served.Root, served.Level, served.Fingerprint
	v.Token = search.Token{Epoch: Epoch, Codebase: id, Snapshot: served.Number, Root: served.Root}
	reading.View = &store.View{Snapshot: served}
	return reading, nil
}

func (w *World) verdict(c *codebase, o tool.CheckOptions) search.Verdict {
	verdict := search.Verdict{State: search.Current, CheckedAt: Now(), LinkedFiles: w.Linked}
	if w.Unprovable != "" {
		verdict.State, verdict.Reason = search.Unknown, w.Unprovable
		return verdict
	}
	changed := w.changed(c)
	switch {
	case len(changed) == 0:
	case w.NoCatchUp || o.MaxWait < 0 || c.Current == 0:
		verdict.State, verdict.Pending, verdict.PendingCount = search.Behind, changed, len(changed)
	default:
		w.seal(c, false)
		verdict.State = search.CaughtUp
	}
	if len(w.Kept) > 0 {
		verdict.State, verdict.Kept = search.Behind, w.Kept
		verdict.Pending, verdict.PendingCount = append(verdict.Pending, w.Kept...), verdict.PendingCount+len(w.Kept)
	}
	return verdict
}

// changed lists the paths that the served snapshot has otherwise than the disk.
func (w *World) changed(c *codebase) []string {
	served := c.manifests[c.Current]
	var paths []string
	for path, text := range w.disk[c.Root] {
		entry, ok := served[path]
		if (!ok || entry.Content != sha256.Sum256([]byte(text))) && !slices.Contains(w.Secrets, path) {
			paths = append(paths, path)
		}
	}
	for path := range served {
		if _, ok := w.disk[c.Root][path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Compare implements tool.Disk.
func (w *World) Compare(_ context.Context, c store.Codebase, path string, content merkle.Hash) (tool.DiskState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, ok := w.disk[c.Root][path]
	switch {
	case !ok:
		return tool.DiskGone, nil
	case content != sha256.Sum256([]byte(text)):
		return tool.DiskChanged, nil
	}
	return tool.DiskSame, nil
}

// Live implements tool.Disk.
func (w *World) Live(_ context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, ok := w.disk[c.Root][path]
	switch {
	case !ok:
		return tool.LiveFile{}, tool.Errorf(tool.CodePathNotFound, "there is no file %s", path)
	case slices.Contains(w.Secrets, path):
		return tool.LiveFile{LeftOut: store.LeftOutSecret}, nil
	}
	return tool.LiveFile{Data: []byte(text), Hash: sha256.Sum256([]byte(text)), Language: language(path)}, nil
}

// Package tooltest is a small world in memory that behaves as a host does: files on a
// disk, codebases, snapshots, and operations that seal them. It is the backend of the
// tests of handlers and of whatever stands in front of them.
package tooltest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Epoch is the epoch of a World's tokens.
const Epoch = "world"

// Knobs change how a World behaves. The zero value behaves well.
type Knobs struct {
	// NoCatchUp has a check find changes and never seal them.
	NoCatchUp bool
	// Unprovable is why a check proves nothing, "" when it does.
	Unprovable string
	// Kept are paths that cannot be read and are served as they were read last.
	Kept []string
	// Damaged are the paths whose contents the store does not give.
	Damaged []string
	// Parked is how many files of a snapshot could not be processed.
	Parked int
	// Linked is how many files a check finds to have several hard links.
	Linked int
	// Unread is how many files mode regex cannot read.
	Unread int
	// Requires are the recipe fields that differ, and CannotEmbed says that the old model
	// is out of reach.
	Requires    []store.FieldChange
	CannotEmbed bool
	// Down is why no check can be made, nil when it can. Reading unchecked still works.
	Down error
	// Wordless says why no query can be embedded, "" when it can.
	Wordless string
	// NoFingerprint serves a snapshot without one.
	NoFingerprint bool
	// TextOnly seals at the text level.
	TextOnly bool
	// Recipes are those of snapshots by their number; the others have an empty one.
	Recipes map[uint64]store.Recipe
	// Unparsed has no content parsed.
	Unparsed bool
	// Running is an operation that never ends.
	Running *tool.Operation
	// Failing is why operations fail, "" when they do not.
	Failing string
	// Drift is what Verify finds.
	Drift []tool.Difference
	// Secrets are the paths that are left out as secrets.
	Secrets []string
	// MidSearch is called between retrieval and the comparison with the disk, with the
	// number of the search.
	MidSearch func(search int)
}

// World is the state. Its methods may be called from several goroutines, except that
// Knobs are set before the calls that they are for.
type World struct {
	Knobs

	mu        sync.Mutex // guards what follows
	disk      map[string]map[string]string
	codebases map[store.CodebaseID]*codebase
	contents  map[merkle.Hash][]byte
	letters   []tool.DeadLetter
	events    []tool.LogEvent
	searches  int
	last      map[store.CodebaseID]tool.Operation
	sessions  map[string]store.Session
}

type codebase struct {
	store.Codebase
	snapshots []store.Snapshot
	manifests map[uint64]map[string]store.FileEntry
}

// New returns a world without codebases.
func New() *World {
	return &World{
		disk:      map[string]map[string]string{},
		codebases: map[store.CodebaseID]*codebase{},
		contents:  map[merkle.Hash][]byte{},
		last:      map[store.CodebaseID]tool.Operation{},
		sessions:  map[string]store.Session{},
	}
}

// Now is the time at which everything in a World happens.
func Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// Backend returns the world as handlers see it.
func (w *World) Backend() *tool.Backend {
	return &tool.Backend{
		Catalog: w, Contents: w, Registry: w, Freshness: w, Search: w, Disk: w, Operations: w,
		Inspector: w, Planner: w, Snapshots: w, Canon: w, History: w, Keeper: w, Sessions: w, Now: Now,
	}
}

// Write puts a file on the disk of a root; the root comes to be with its first file.
func (w *World) Write(root, path, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk[root] == nil {
		w.disk[root] = map[string]string{}
	}
	w.disk[root][path] = text
}

// Remove takes a file from the disk of a root.
func (w *World) Remove(root, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.disk[root], path)
}

// Forget takes a snapshot of a codebase away, as retention does.
func (w *World) Forget(id store.CodebaseID, number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.codebases[id]
	c.snapshots = slices.DeleteFunc(c.snapshots, func(s store.Snapshot) bool { return s.Number == number })
	delete(c.manifests, number)
}

// Bury adds a dead letter.
func (w *World) Bury(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := uint64(len(w.letters) + 1)
	w.letters = append(w.letters, tool.DeadLetter{Letter: n, Sequence: 10 * n, At: Now(), Consumer: "chunk", Reason: reason})
}

// seal makes a snapshot of the disk as it is and serves it, unless the one that is served
// has the same tree.
func (w *World) seal(c *codebase, rebuild bool) {
	files := map[string]store.FileEntry{}
	var bytes int64
	for path, text := range w.disk[c.Root] {
		if slices.Contains(w.Secrets, path) {
			continue
		}
		content := merkle.Hash(sha256.Sum256([]byte(text)))
		w.contents[content] = []byte(text)
		files[path] = store.FileEntry{Path: path, Content: content, Size: int64(len(text)), Language: language(path)}
		bytes += int64(len(text))
	}
	if c.Current != 0 && maps.Equal(files, c.manifests[c.Current]) && !rebuild {
		return
	}
	s := store.Snapshot{
		Codebase: c.ID, Number: c.Latest + 1, Parent: c.Latest, Fingerprint: "f00dfacef00dface",
		Root: rootOf(files), Level: store.LevelFull, OpenedAt: Now(), SealedAt: Now(),
		Files: len(files), Bytes: bytes, Changed: len(files), Ref: "main",
	}
	if r, ok := w.Recipes[s.Number]; ok {
		s.Fingerprint = r.Fingerprint()
	}
	if w.NoFingerprint {
		s.Fingerprint = ""
	}
	if w.TextOnly {
		s.Level = store.LevelText
	}
	c.snapshots = append([]store.Snapshot{s}, c.snapshots...)
	c.manifests[s.Number] = files
	c.Latest, c.Current, c.Failure = s.Number, s.Number, ""
	w.events = append(w.events, tool.LogEvent{
		Sequence: uint64(len(w.events) + 1), At: Now(), Type: "snapshot.sealed", Codebase: c.ID,
		Snapshot: s.Number, Summary: fmt.Sprintf("level %s, %d files", s.Level, s.Files),
	})
}

func rootOf(files map[string]store.FileEntry) merkle.Hash {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		h.Write(fmt.Appendf(nil, "%s\x00%s\x00", path, files[path].Content))
	}
	return merkle.Hash(h.Sum(nil))
}

func language(path string) string {
	switch {
	case strings.HasSuffix(path, ".go"):
		return "Go"
	case strings.HasSuffix(path, ".md"):
		return "Markdown"
	}
	return "Text"
}

func (w *World) codebase(id store.CodebaseID) (*codebase, error) {
	c, ok := w.codebases[id]
	if !ok {
		return nil, fmt.Errorf("codebase %s: %w", id, store.ErrNotFound)
	}
	return c, nil
}

func (c *codebase) snapshot(number uint64) (store.Snapshot, error) {
	for _, s := range c.snapshots {
		if s.Number == number {
			return s, nil
		}
	}
	return store.Snapshot{}, fmt.Errorf("snapshot %d: %w", number, store.ErrNotFound)
}

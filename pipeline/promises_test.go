package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/event"
)

// smallTree fills a rig with a few files of several kinds.
func smallTree(r *rig) {
	r.write("cmd/main.go", goFile("main", "main", "parseFlags"))
	r.write("internal/server/server.go", goFile("server", "Start", "Close", "handle"))
	r.write("internal/server/server_test.go", goFile("server", "TestStart"))
	r.write("tools/gen.py", "def generate(path):\n    return open(path).read()\n")
	r.write("README.md", "# Demo\n\nA small tree.\n\n## Usage\n\nRun it.\n")
}

func TestWholeChain(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	smallTree(r)
	first := r.catchUp()
	if first.Files != 5 || first.Number != 1 {
		t.Fatalf("snapshot %d has %d files, want 1 with 5", first.Number, first.Files)
	}
	r.wantClean()
	r.write("internal/server/server.go", goFile("server", "Start", "Shutdown", "handle"))
	r.remove("tools/gen.py")
	r.rename("README.md", "docs/README.md")
	second := r.catchUp()
	if second.Number != 2 || second.Files != 4 {
		t.Errorf("snapshot %d has %d files, want 2 with 4", second.Number, second.Files)
	}
	r.wantClean()
}

// Promise 2: a deleted file is gone with the next sealed snapshot, and no change is lost.
func TestNoLostAndNoGhostChange(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	smallTree(r)
	r.catchUp()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 15 {
		for range 1 + random.IntN(4) {
			path := fmt.Sprintf("pkg%d/file%d.go", random.IntN(3), random.IntN(4))
			switch random.IntN(4) {
			case 0:
				r.remove(path)
			case 1:
				if other := fmt.Sprintf("moved/f%d.go", random.IntN(5)); exists(r, path) {
					r.rename(path, other)
				}
			default:
				r.write(path, goFile("pkg", fmt.Sprintf("F%d", random.IntN(50)), "Common"))
			}
		}
		r.catchUp()
		if round%5 == 4 {
			r.wantClean()
		}
	}
}

func exists(r *rig, path string) bool {
	_, err := os.Stat(filepath.Join(r.root, path))
	return err == nil
}

// Promise 7: contents seen before are neither parsed nor embedded again, in another
// worktree, after a revert, a rename, or a branch switch and back.
func TestWorkOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	smallTree(r)
	r.catchUp()
	if parses, texts := r.work(); parses == 0 || texts == 0 {
		t.Fatalf("first index: %d parses, %d texts; want some", parses, texts)
	}
	before := goFile("server", "Start", "Close", "handle")
	steps := []struct {
		name string
		do   func()
	}{
		{"rename a file", func() { r.rename("cmd/main.go", "cmd/app/main.go") }},
		{"rename a directory", func() { r.rename("internal", "lib") }},
		{"rename back", func() { r.rename("lib", "internal") }},
		{"copy a file", func() { r.write("copy.go", before) }},
		{"touch", func() {
			now := time.Now().Add(time.Hour)
			r.must(os.Chtimes(filepath.Join(r.root, "copy.go"), now, now))
		}},
	}
	for _, step := range steps {
		step.do()
		r.catchUp()
		if parses, texts := r.work(); parses != 0 || texts != 0 {
			t.Errorf("%s: %d parses, %d texts embedded; want none", step.name, parses, texts)
		}
	}
	r.write("internal/server/server.go", goFile("server", "Start", "Stop", "handle"))
	r.catchUp()
	r.work()
	r.write("internal/server/server.go", before)
	r.catchUp()
	if parses, texts := r.work(); parses != 0 || texts != 0 {
		t.Errorf("revert: %d parses, %d texts embedded; want none", parses, texts)
	}
	worktree := newRig(t, rigOptions{store: r.store, name: "worktree"})
	smallTree(worktree)
	worktree.catchUp()
	if parses, texts := worktree.work(); parses != 0 || texts != 0 {
		t.Errorf("second worktree: %d parses, %d texts embedded; want none", parses, texts)
	}
}

// Editing one function of a large file embeds that chunk and at most its neighbours.
func TestEditEmbedsOnlyItsNeighbourhood(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	var functions []string
	for i := range 400 {
		functions = append(functions, fmt.Sprintf("Function%03d", i))
	}
	r.write("large.go", goFile("large", functions...))
	r.catchUp()
	r.work()
	functions[200] = "Renamed"
	r.write("large.go", goFile("large", functions...))
	r.catchUp()
	if parses, texts := r.work(); parses != 1 || texts < 1 || texts > 3 {
		t.Errorf("%d parses, %d texts embedded; want 1 and 1 to 3", parses, texts)
	}
}

// Promise 3: an event delivered twice, late and out of order changes nothing.
func TestEventTwiceLateAndOutOfOrderChangesNothing(t *testing.T) {
	t.Parallel()
	shuffled := &shuffledBus{Bus: membus.New(), random: rand.New(rand.NewPCG(3, 4))}
	t.Cleanup(func() { closeOf(t, shuffled.Bus) })
	r := newRig(t, rigOptions{bus: shuffled})
	for round := range 6 {
		for i := range 8 {
			r.write(fmt.Sprintf("p/f%d.go", i), goFile("p", fmt.Sprintf("R%dF%d", round, i), "Same"))
		}
		if round%2 == 1 {
			r.remove("p/f3.go")
		}
		r.catchUp()
	}
	digest := r.digest()
	r.work()
	shuffled.replayAll(t, r)
	if parses, texts := r.work(); parses != 0 || texts != 0 {
		t.Errorf("replaying every event: %d parses, %d texts; want none", parses, texts)
	}
	if got := r.digest(); got != digest {
		t.Errorf("digest changed from %s to %s", digest, got)
	}
	r.wantClean()
}

// shuffledBus delivers every message again after others, out of order.
type shuffledBus struct {
	bus.Bus
	mu     sync.Mutex // guards random, late
	random *rand.Rand
	late   []bus.Delivery
}

func (b *shuffledBus) Consume(ctx context.Context, c bus.Consumer, handle bus.Handler) error {
	return b.Bus.Consume(ctx, c, func(ctx context.Context, d bus.Delivery) error {
		b.mu.Lock()
		b.late = append(b.late, d)
		again := b.late[b.random.IntN(len(b.late))]
		b.mu.Unlock()
		if err := handle(ctx, again); err != nil && !errors.Is(err, bus.ErrObsolete) {
			var drop *bus.Drop
			if errors.As(err, &drop) {
				return err
			}
		}
		if err := handle(ctx, d); err != nil {
			return err
		}
		return handle(ctx, d)
	})
}

// replayAll hands every message of the log to every stage once more, newest first.
func (b *shuffledBus) replayAll(t tester, r *rig) {
	t.Helper()
	var all []bus.Stored
	r.must(b.Read(t.Context(), 1, 0, func(m bus.Stored) error {
		all = append(all, m)
		return nil
	}))
	for i := len(all) - 1; i >= 0; i-- {
		for name, handle := range r.pipeline.Handlers() {
			err := handle(t.Context(), bus.Delivery{Stored: all[i], Tries: 2})
			if err != nil && !errors.Is(err, bus.ErrObsolete) {
				t.Errorf("%s, message %d again: %v", name, all[i].Sequence, err)
			}
		}
	}
}

// Content events per path whose content changed: exactly one; for touch, chmod and a
// rewrite of equal bytes: none; messages in a first import: at most one for 16 files.
func TestEventCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	const files = 800
	for i := range files {
		r.write(fmt.Sprintf("d%d/f%d.go", i%20, i), goFile("d", fmt.Sprintf("F%d", i)))
	}
	r.catchUp()
	state, err := r.bus.State(t.Context())
	r.must(err)
	if limit := uint64(files / 16); state.Messages > limit {
		t.Errorf("%d messages for a first import of %d files, want at most %d", state.Messages, files, limit)
	}
	last := state.Last
	r.must(os.Chmod(filepath.Join(r.root, "d1/f1.go"), 0o600))
	r.write("d2/f2.go", goFile("d", "F2"))
	now := time.Now()
	r.must(os.Chtimes(filepath.Join(r.root, "d3/f3.go"), now, now))
	r.catchUp()
	if paths := changedPaths(r, last+1); len(paths) != 0 {
		t.Errorf("chmod, rewrite of equal bytes and touch gave content events for %v", paths)
	}
	r.write("d4/f4.go", goFile("d", "Edited"))
	r.write("d5/f5.go", goFile("d", "EditedToo"))
	r.catchUp()
	paths := changedPaths(r, last+1)
	if len(paths) != 2 || paths["d4/f4.go"] != 1 || paths["d5/f5.go"] != 1 {
		t.Errorf("two edits gave content events %v, want one each", paths)
	}
}

func changedPaths(r *rig, from uint64) map[string]int {
	r.t.Helper()
	paths := map[string]int{}
	r.must(r.bus.Read(r.t.Context(), from, 0, func(m bus.Stored) error {
		e, err := event.Decode(m.Data)
		if err == nil && e.Type == event.FilesChanged {
			for _, f := range e.Changed.Files {
				paths[f.Path]++
			}
		}
		return err
	}))
	return paths
}

// A recipe change opens a rebuild by itself; the old snapshot serves until it is sealed,
// and the new one equals a clean build under the new recipe.
func TestRecipeChangeRebuilds(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	smallTree(r)
	first := r.catchUp()
	r.stop()
	next := newRig(t, rigOptions{root: r.root, store: r.store, bus: r.bus, chunker: chunk.Version + "-next"})
	second := next.catchUp()
	if second.Number <= first.Number || !second.Rebuild || second.Fingerprint == first.Fingerprint {
		t.Errorf("snapshot %d, rebuild %v: want a rebuild after %d", second.Number, second.Rebuild, first.Number)
	}
	if _, err := r.store.View(t.Context(), r.codebase.ID, first.Number); err != nil {
		t.Errorf("the old snapshot cannot be read any more: %v", err)
	}
	next.wantClean()
}

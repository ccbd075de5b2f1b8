package pipeline_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

var (
	update = flag.Bool("update", false, "rewrite the digests of testdata/histories")
	record = flag.Bool("record", false, "record the histories of testdata/histories again")
)

const histories = "../testdata/histories"

// TestHistories replays every recorded history in order, shuffled and with repeats, its
// events and the deliveries to the stages both, and compares with the committed digests.
// Histories are never recorded again for a change of the program: they are what earlier
// versions wrote.
func TestHistories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(histories, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s: %v", histories, err)
	}
	want := readDigests(t)
	got := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, err := history.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		random := rand.New(rand.NewPCG(17, uint64(len(data))))
		shuffled := slices.Clone(h.Events)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		repeated := slices.Concat(shuffled, h.Events, shuffled)
		orders := map[string][]event.Event{"in order": h.Events, "shuffled": shuffled, "repeated": repeated}
		for _, order := range slices.Sorted(maps.Keys(orders)) {
			digest := replay(t, nil, h, orders[order], order != "in order")
			if got[name] == "" {
				got[name] = digest
			}
			if digest != got[name] {
				t.Errorf("%s replayed %s: digest %s, in order %s", name, order, digest, got[name])
			}
		}
		if !*update && got[name] != want[name] {
			t.Errorf("%s: digest %s, committed %s", name, got[name], want[name])
		}
	}
	if *update {
		writeDigests(t, got)
	}
}

// replay runs a history through the real stages into a store, nil for a new memstore, and
// returns the digests of its codebases.
func replay(t *testing.T, into store.Store, h history.History, events []event.Event, chaotic bool) string {
	t.Helper()
	steps, err := history.Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	var log bus.Bus = membus.New()
	defer closeOf(t, log)
	if chaotic {
		log = &shuffledBus{Bus: log, random: rand.New(rand.NewPCG(23, uint64(len(events))))}
	}
	r := newRig(t, rigOptions{store: into, bus: log, name: "unused", threshold: -1})
	defer r.stop()
	target := history.Target{
		Store: r.store, Recipe: r.recipe, Publish: r.pipeline.Outbox.Flush,
		Settled: func(ctx context.Context, id store.CodebaseID, number uint64) error {
			for {
				changed := r.awaitChange()
				s, err := r.store.Snapshot(ctx, id, number)
				if err != nil || s.Level == store.LevelFull {
					return err
				}
				select {
				case <-changed:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}
	digests, err := history.Replay(t.Context(), target, steps, func(_ context.Context, hash merkle.Hash) ([]byte, error) {
		data, ok := h.Contents[hash]
		if !ok {
			return nil, store.ErrNotFound
		}
		return data, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, d := range digests {
		all = append(all, d.Digest)
	}
	return strings.Join(all, "+")
}

func digestFile() string { return filepath.Join(histories, "digests.txt") }

func readDigests(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(digestFile())
	if err != nil && !*update {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, digest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			digests[name] = digest
		}
	}
	return digests
}

func writeDigests(t *testing.T, digests map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(&b, "%s %s\n", name, digests[name])
	}
	if err := os.WriteFile(digestFile(), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRecordHistories records the scenarios below, when told to: make a new one rather than
// to record an old one again.
func TestRecordHistories(t *testing.T) {
	if !*record {
		t.Skip("histories are recorded once; run with -record for new ones")
	}
	for name, scenario := range scenarios() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(histories, name+".jsonl")
			if _, err := os.Stat(file); err == nil {
				return
			}
			r := scenario(t)
			var events []event.Event
			r.must(r.bus.Read(t.Context(), 1, 0, func(m bus.Stored) error {
				e, err := event.Decode(m.Data)
				events = append(events, e)
				return err
			}))
			var out bytes.Buffer
			w, err := history.NewWriter(&out)
			r.must(err)
			r.must(history.Record(t.Context(), r.store, r.recipe, events, w))
			r.must(w.Close())
			r.must(os.MkdirAll(histories, 0o755))
			r.must(os.WriteFile(file, out.Bytes(), 0o644))
		})
	}
}

func scenarios() map[string]func(t *testing.T) *rig {
	return map[string]func(t *testing.T) *rig{
		"edits":         recordEdits,
		"renames":       recordRenames,
		"ignore-rules":  recordIgnoreRules,
		"recipe-change": recordRecipeChange,
		"parked-files":  recordParkedFiles,
	}
}

func recordEdits(t *testing.T) *rig {
	r := newRig(t, rigOptions{})
	smallTree(r)
	r.catchUp()
	r.write("internal/server/server.go", goFile("server", "Start", "Drain", "handle"))
	r.write("web/app.ts", "export function render(id: string): string {\n  return `<p>${id}</p>`\n}\n")
	r.catchUp()
	r.remove("tools/gen.py")
	r.write("internal/server/server.go", goFile("server", "Start", "Close", "handle"))
	r.catchUp()
	r.write("odd\nname.txt", "a name with a line end\n")
	r.write("latin.txt", "caf\xe9 is not UTF-8\n")
	r.write("empty.go", "")
	r.catchUp()
	return r
}

func recordRenames(t *testing.T) *rig {
	r := newRig(t, rigOptions{})
	smallTree(r)
	r.catchUp()
	r.rename("internal/server", "pkg/server")
	r.catchUp()
	r.rename("pkg/server/server.go", "pkg/server/serve.go")
	r.write("pkg/server/server.go", goFile("server", "Replacement"))
	r.catchUp()
	r.rename("pkg", "lib")
	r.remove("README.md")
	r.catchUp()
	return r
}

func recordIgnoreRules(t *testing.T) *rig {
	r := newRig(t, rigOptions{})
	smallTree(r)
	r.write("build/out.go", goFile("build", "Generated"))
	r.catchUp()
	r.write(".gitignore", "build/\n*.py\n")
	r.catchUp()
	r.write(".gitignore", "*.py\n")
	r.write(".freshetignore", "docs/\n")
	r.write("docs/guide.md", "# Guide\n")
	r.catchUp()
	return r
}

func recordRecipeChange(t *testing.T) *rig {
	r := newRig(t, rigOptions{})
	smallTree(r)
	r.catchUp()
	r.stop()
	next := newRig(t, rigOptions{root: r.root, store: r.store, bus: r.bus, chunker: chunk.Version + "-next"})
	next.write("cmd/main.go", goFile("main", "main", "run"))
	next.catchUp()
	return next
}

func recordParkedFiles(t *testing.T) *rig {
	r := newRig(t, rigOptions{provider: &rejecting{Provider: builtin.New(), word: "poison"}})
	smallTree(r)
	r.write("bad.go", goFile("bad", "poison"))
	r.catchUp()
	r.write("bad.go", goFile("bad", "poison", "more"))
	r.write("good.go", goFile("good", "fine"))
	r.catchUp()
	return r
}

package pipeline_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
)

// TestModel makes random edits, crashes, lost logs and redeliveries, and compares the
// manifest with a map at every catch-up, and the whole index with one from scratch at the
// end.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{
			options: rigOptions{
				root: temporary(t), store: memstore.New(memstore.Options{}), threshold: -1,
				bus: &shuffledBus{Bus: membus.New(), random: rand.New(rand.NewPCG(5, 6))},
			},
			files: map[string]string{},
		}
		m.rig = newRig(t, m.options)
		t.Repeat(map[string]func(*rapid.T){
			"write":       m.write,
			"remove":      m.remove,
			"rename":      m.rename,
			"check":       m.check,
			"catch up":    m.catchUp,
			"crash":       m.crash,
			"lose log":    m.loseLog,
			"redeliver":   m.redeliver,
			"rebuild":     m.rebuild,
			"hide python": m.ignore,
		})
		m.catchUp(t)
		m.rig.wantClean()
		m.rig.stop()
		if err := m.options.bus.Close(); err != nil {
			t.Error(err)
		}
	})
}

// machine is the state of one run: the rig, and the files that the tree ought to have.
type machine struct {
	options rigOptions
	rig     *rig
	files   map[string]string
	hidden  bool // .gitignore leaves out *.py
}

func (m *machine) path(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"a.go", "b.go", "dir/a.go", "dir/c.py", "dir/sub/d.md", "other/e.go", "other/f.txt", "g.py",
	}).Draw(t, "path")
}

func (m *machine) write(t *rapid.T) {
	path := m.path(t)
	content := goFile("p", fmt.Sprintf("F%d", rapid.IntRange(0, 9).Draw(t, "function")))
	m.rig.write(path, content)
	m.files[path] = content
}

func (m *machine) remove(t *rapid.T) {
	path := m.path(t)
	m.rig.remove(path)
	delete(m.files, path)
}

func (m *machine) rename(t *rapid.T) {
	from, to := m.path(t), m.path(t)
	content, ok := m.files[from]
	if !ok || from == to {
		return
	}
	m.rig.rename(from, to)
	delete(m.files, from)
	m.files[to] = content
}

// ignore writes or removes an ignore file.
func (m *machine) ignore(t *rapid.T) {
	if m.hidden = !m.hidden; m.hidden {
		m.rig.write(".gitignore", "*.py\n")
		m.files[".gitignore"] = "*.py\n"
		return
	}
	m.rig.remove(".gitignore")
	delete(m.files, ".gitignore")
}

// check opens a snapshot and waits for nothing.
func (m *machine) check(t *rapid.T) {
	if len(m.files) == 0 {
		return
	}
	if _, err := m.rig.sync.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) catchUp(t *rapid.T) {
	if len(m.files) == 0 { // an empty root is not a tree without files
		m.write(t)
	}
	m.rig.t = t
	snapshot := m.rig.catchUp()
	want := maps.Clone(m.files)
	if m.hidden {
		maps.DeleteFunc(want, func(path, _ string) bool { return filepath.Ext(path) == ".py" })
	}
	var got []string
	for entry, err := range m.rig.store.Manifest(t.Context(), m.rig.codebase.ID, snapshot.Number) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.Path)
		data, err := m.rig.store.Content(t.Context(), entry.Content)
		if err != nil || string(data) != want[entry.Path] {
			t.Fatalf("%s holds %q (%v), want %q", entry.Path, data, err, want[entry.Path])
		}
	}
	if paths := slices.Sorted(maps.Keys(want)); !slices.Equal(got, paths) {
		t.Fatalf("manifest has %v, want %v", got, paths)
	}
}

// crash ends the pipeline wherever it is and starts another over the same store and log.
func (m *machine) crash(t *rapid.T) {
	m.rig.stop()
	options := m.options
	m.rig = newRig(t, options)
}

// loseLog makes the log anew behind the pipeline's back, and starts it again.
func (m *machine) loseLog(t *rapid.T) {
	m.rig.stop()
	if _, err := m.options.bus.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.rig = newRig(t, m.options)
}

func (m *machine) redeliver(t *rapid.T) {
	m.options.bus.(*shuffledBus).replayAll(t, m.rig)
}

func (m *machine) rebuild(t *rapid.T) {
	if len(m.files) == 0 {
		return
	}
	if _, err := m.rig.sync.Rebuild(t.Context()); err != nil && !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
}

package storetest

import (
	"fmt"
	"testing"

	"github.com/freshet/freshet/store"
)

func testManifestIntervals(t *testing.T, e *env) {
	id := e.register("a")
	changes := []edit{
		{put: map[string]string{"a": "1", "b": "1", "dir/c": "1"}},
		{put: map[string]string{"a": "2"}},
		{remove: []string{"b"}},
		{put: map[string]string{"a": "1"}},                                // A-B-A
		{put: map[string]string{"b": "1"}},                                // removed and back
		{put: map[string]string{"dir/d": "1"}, remove: []string{"dir/c"}}, // rename
		{put: map[string]string{"a": "1"}},                                // equal entry
		{},                                                                // nothing
		{put: map[string]string{"a": "9", "e": "9"}, remove: []string{"a", "b"}}, // removed and upserted
	}
	trees := []map[string]string{{}}
	for _, change := range changes {
		n := e.step(id, change)
		tree := map[string]string{}
		for path, text := range trees[n.Number-1] {
			tree[path] = text
		}
		for _, path := range change.remove {
			delete(tree, path)
		}
		for path, text := range change.put {
			tree[path] = text
		}
		trees = append(trees, tree)
	}
	for number, tree := range trees[1:] {
		want := map[string]store.FileEntry{}
		for path, text := range tree {
			want[path] = file(path, text)
		}
		got, last := map[string]store.FileEntry{}, ""
		for _, f := range e.manifest(id, uint64(number+1)) {
			if f.Path <= last {
				t.Fatalf("manifest %d is not sorted: %q after %q", number+1, f.Path, last)
			}
			got[f.Path], last = f, f.Path
		}
		e.same(fmt.Sprintf("manifest %d", number+1), got, want)
		for _, path := range []string{"a", "b", "dir/c", "dir/d", "e"} {
			f, err := e.s.File(e.ctx, id, uint64(number+1), path)
			if _, ok := tree[path]; !ok {
				e.is(err, store.ErrNotFound)
				continue
			}
			e.ok(err)
			e.same("file", f, want[path])
		}
	}
}

func testManifestOddPaths(t *testing.T, e *env) {
	id := e.register("a")
	o := e.opening(id, recipe("m1"), edit{})
	o.Contents = []store.Content{content("x")}
	for i, path := range []string{"\x00", "a", "a\nb", "a b", "a%", "a/b", "a/b'; --", "b\xff\xfe", "e\u0301", "\u00e9"} {
		entry := file(path, "x")
		entry.Flags = store.FileFlags(i % 16)
		entry.Size = int64(i) << 40
		entry.Language = []string{"", "C++", "é"}[i%3]
		entry.RenamedFrom = []string{"", "old\xff"}[i%2]
		o.Upserts = append(o.Upserts, entry)
	}
	_, err := e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("manifest", e.manifest(id, 1), o.Upserts)
	upserted, _, err := e.s.Delta(e.ctx, id, 1)
	e.ok(err)
	e.same("delta", upserted, o.Upserts)
}

func testManifestStopsEarly(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"a": "1", "b": "2", "c": "3"}})
	e.ok(e.s.PutStats(e.ctx, id, []store.StatEntry{{Path: "a"}, {Path: "b"}}, nil))
	for range 100 {
		for f, err := range e.s.Manifest(e.ctx, id, 1) {
			e.ok(err)
			got, err := e.s.File(e.ctx, id, 1, f.Path) // a call within the iteration
			e.ok(err)
			e.same("file", got, f)
			break
		}
		for _, err := range e.s.Stats(e.ctx, id) {
			e.ok(err)
			break
		}
	}
	e.ok(e.s.SetFailure(e.ctx, id, "a write after stopped reads"))
}

// delta reads a delta as paths.
func (e *env) delta(id store.CodebaseID, number uint64) (upserted, removed []string) {
	e.t.Helper()
	files, removed, err := e.s.Delta(e.ctx, id, number)
	e.ok(err)
	for _, f := range files {
		upserted = append(upserted, f.Path)
	}
	return upserted, removed
}

func testDelta(t *testing.T, e *env) {
	id := e.register("a")
	tests := []struct {
		name              string
		change            edit
		upserted, removed []string
	}{
		{"first", edit{put: map[string]string{"c": "1", "a": "1", "b": "1"}}, []string{"a", "b", "c"}, nil},
		{"modified", edit{put: map[string]string{"b": "2"}}, []string{"b"}, nil},
		{"removed", edit{remove: []string{"c", "b"}}, nil, []string{"b", "c"}},
		{"back again", edit{put: map[string]string{"b": "1"}}, []string{"b"}, nil},
		{"nothing", edit{}, nil, nil},
		{"equal entry", edit{put: map[string]string{"a": "1"}}, []string{"a"}, nil},
		{"rename", edit{put: map[string]string{"z": "1"}, remove: []string{"a"}}, []string{"z"}, []string{"a"}},
		{"removed and upserted", edit{put: map[string]string{"z": "3"}, remove: []string{"z", "absent"}}, []string{"z"}, nil},
	}
	for _, tt := range tests {
		e.step(id, tt.change)
	}
	for i, tt := range tests {
		upserted, removed := e.delta(id, uint64(i+1))
		e.same(tt.name+": upserted", upserted, tt.upserted)
		e.same(tt.name+": removed", removed, tt.removed)
	}
}

func testDeltaAfterAbandoned(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"a": "1", "b": "1", "c": "1", "d": "1"}})
	e.open(id, edit{put: map[string]string{"a": "2", "new": "1"}, remove: []string{"b", "c"}})
	e.ok(e.s.Abandon(e.ctx, id, 2))
	n := e.open(id, edit{put: map[string]string{"a": "1", "c": "1"}, remove: []string{"new"}})
	e.same("base", n.Base, uint64(1))
	upserted, removed := e.delta(id, 3)
	e.same("upserted since the base", upserted, []string{"a", "c"})
	e.same("removed since the base", removed, []string{"b"})
	e.ok(e.s.Abandon(e.ctx, id, 3))
	n = e.open(id, edit{remove: []string{"c", "d"}})
	upserted, removed = e.delta(id, n.Number)
	e.same("upserted since the base", upserted, []string{"a"})
	e.same("removed since the base", removed, []string{"b", "c", "d"})
}

func testStats(t *testing.T, e *env) {
	id := e.register("a")
	e.register("b")
	full := store.StatEntry{
		Path: "z/\xff", Racy: true, XX: 1<<64 - 1, Content: hashOf("z"), Language: "Go", Flags: store.FlagTest | store.FlagDocs,
		Stat: store.Stat{Size: 1 << 50, MtimeNs: -5, CtimeNs: 1 << 62, Device: 1<<64 - 1, Inode: 9, Mode: 0o100644},
	}
	out := store.StatEntry{Path: "bin", LeftOut: store.LeftOutBinary, Stat: store.Stat{Size: -1}}
	root := store.StatEntry{Dir: true, Stat: store.Stat{MtimeNs: 7}}
	read := func() (all []store.StatEntry) {
		for entry, err := range e.s.Stats(e.ctx, id) {
			e.ok(err)
			all = append(all, entry)
		}
		return all
	}
	e.same("no stats", read(), nil)
	e.ok(e.s.PutStats(e.ctx, id, []store.StatEntry{full, out, root}, nil))
	e.same("stats", read(), []store.StatEntry{root, out, full})
	full.Racy, full.Stat.MtimeNs = false, 99
	for range 2 {
		e.ok(e.s.PutStats(e.ctx, id, []store.StatEntry{full}, []string{"bin", "absent", full.Path}))
	}
	e.same("changed stats", read(), []store.StatEntry{root, full})
	o := e.opening(id, recipe("m1"), edit{})
	o.Stats, o.StatRemoves = []store.StatEntry{out}, []string{full.Path}
	_, err := e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("stats after an opening", read(), []store.StatEntry{root, out})
	for entry, err := range e.s.Stats(e.ctx, "b") {
		e.ok(err)
		t.Fatalf("another codebase has %v", entry)
	}
}

package merkle

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// naiveRoot is the slow twin: it regroups a flat map at every level.
func naiveRoot(files map[string]Leaf) Hash {
	type child struct {
		kind byte
		hash Hash
	}
	children := map[string]child{}
	below := map[string]map[string]Leaf{}
	for path, leaf := range files {
		if name, rest, nested := strings.Cut(path, "/"); nested {
			if below[name+"/"] == nil {
				below[name+"/"] = map[string]Leaf{}
			}
			below[name+"/"][rest] = leaf
		} else {
			children[name] = child{'f', leaf.Content}
		}
	}
	for name, sub := range below {
		children[name] = child{'d', naiveRoot(sub)}
	}
	h := sha256.New()
	h.Write([]byte("freshet tree 1\x00"))
	for _, name := range slices.Sorted(maps.Keys(children)) {
		c := children[name]
		plain := strings.TrimSuffix(name, "/")
		h.Write([]byte{c.kind})
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(plain)))
		h.Write(n[:])
		h.Write([]byte(plain))
		h.Write(c.hash[:])
	}
	return Hash(h.Sum(nil))
}

// naiveDiff compares two flat maps, without renames.
func naiveDiff(before, after map[string]Leaf) map[string]ChangeKind {
	kinds := map[string]ChangeKind{}
	for path, leaf := range after {
		if old, ok := before[path]; !ok {
			kinds[path] = Added
		} else if old.Content != leaf.Content {
			kinds[path] = Modified
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			kinds[path] = Removed
		}
	}
	return kinds
}

func conflicts(files map[string]Leaf) bool {
	for path := range files {
		for i := range len(path) {
			if path[i] == '/' {
				if _, both := files[path[:i]]; both {
					return true
				}
			}
		}
	}
	return false
}

func leafOf(text string) Leaf {
	return Leaf{XX: uint64(len(text)), Content: sha256.Sum256([]byte(text))}
}

func build(t testing.TB, files map[string]Leaf) *Tree {
	t.Helper()
	tree, err := Build(maps.All(files))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func flat(t *Tree) map[string]Leaf { return maps.Collect(t.All()) }

func TestEmptyTrees(t *testing.T) {
	t.Parallel()
	var none *Tree
	built := build(t, nil)
	if none.Root() != built.Root() || none.Root() != new(Tree).Root() || none.Root().IsZero() {
		t.Fatal("empty trees have different or zero roots")
	}
	if none.Root() != naiveRoot(nil) {
		t.Fatal("the empty root is not the twin's")
	}
	if _, ok := none.Lookup("a"); ok || none.Len() != 0 || len(Diff(none, built)) != 0 {
		t.Fatal("an empty tree is not empty")
	}
}

func TestOrderIsThatOfPathBytes(t *testing.T) {
	t.Parallel()
	paths := []string{"a-b", "a.go", "a/b", "a/b.c", "a/b/", "a0", "a\xff", "b", "\x01", "é", "e\u0301"}
	files := map[string]Leaf{}
	for _, path := range paths {
		if strings.HasSuffix(path, "/") {
			path += "c"
		}
		if path == "a/b" {
			continue
		}
		files[path] = leafOf(path)
	}
	tree := build(t, files)
	var got []string
	for path := range tree.All() {
		got = append(got, path)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(files)), got); diff != "" {
		t.Fatal(diff)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		paths []string
		want  error
	}{
		"empty path":             {[]string{""}, ErrBadPath},
		"absolute":               {[]string{"/a"}, ErrBadPath},
		"trailing slash":         {[]string{"a/"}, ErrBadPath},
		"double slash":           {[]string{"a//b"}, ErrBadPath},
		"dot":                    {[]string{"a/./b"}, ErrBadPath},
		"dot dot":                {[]string{"../b"}, ErrBadPath},
		"NUL":                    {[]string{"a\x00b"}, ErrBadPath},
		"file then directory":    {[]string{"a", "a/b"}, ErrPathConflict},
		"directory then file":    {[]string{"a/b", "a"}, ErrPathConflict},
		"conflict far apart":     {[]string{"x/a", "x/a.go", "x/a-b", "x/a/b/c"}, ErrPathConflict},
		"conflict below a level": {[]string{"x/y/z", "x/y"}, ErrPathConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Build(func(yield func(string, Leaf) bool) {
				for _, path := range tc.paths {
					if !yield(path, leafOf(path)) {
						return
					}
				}
			})
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestLastLeafOfAPathCounts(t *testing.T) {
	t.Parallel()
	tree, err := Build(func(yield func(string, Leaf) bool) {
		_ = yield("a", leafOf("1")) && yield("b", leafOf("2")) && yield("a", leafOf("3"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if leaf, _ := tree.Lookup("a"); leaf != leafOf("3") || tree.Len() != 2 {
		t.Fatalf("got %v of %d files", leaf, tree.Len())
	}
}

func TestFileTakesThePlaceOfADirectory(t *testing.T) {
	t.Parallel()
	tree := build(t, map[string]Leaf{"a/b": leafOf("1"), "a/c": leafOf("2"), "z": leafOf("3")})
	edits := map[string]*Leaf{"a/b": nil, "a/c": nil, "a": ptr(leafOf("4"))}
	next, err := tree.Edit(maps.All(edits))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Leaf{"a": leafOf("4"), "z": leafOf("3")}, flat(next)); diff != "" {
		t.Fatal(diff)
	}
	delete(edits, "a/c")
	if _, err := tree.Edit(maps.All(edits)); !errors.Is(err, ErrPathConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestRenamesPairDeterministically(t *testing.T) {
	t.Parallel()
	same, other := leafOf("same"), leafOf("other")
	old := build(t, map[string]Leaf{"a/x.go": same, "b/y.go": same, "c/z.go": same, "k": other})
	next := build(t, map[string]Leaf{"d/z.go": same, "e/q.go": same, "k2": other, "new": leafOf("new")})
	want := []Change{
		{Kind: Removed, Path: "b/y.go", Leaf: same},
		{Kind: Renamed, Path: "d/z.go", From: "c/z.go", Leaf: same},
		{Kind: Renamed, Path: "e/q.go", From: "a/x.go", Leaf: same},
		{Kind: Renamed, Path: "k2", From: "k", Leaf: other},
		{Kind: Added, Path: "new", Leaf: leafOf("new")},
	}
	if diff := cmp.Diff(want, Diff(old, next)); diff != "" {
		t.Fatal(diff)
	}
}

func TestDiffEntersOnlyUnequalDirectories(t *testing.T) {
	t.Parallel()
	files := map[string]Leaf{}
	for i := range 50 {
		for j := range 20 {
			files[fmt.Sprintf("d%02d/e/f%02d", i, j)] = leafOf(fmt.Sprint(i, j))
		}
	}
	old := build(t, files)
	next, err := old.Edit(maps.All(map[string]*Leaf{"d07/e/f03": ptr(leafOf("new"))}))
	if err != nil {
		t.Fatal(err)
	}
	changes, stats := DiffCounted(old, next)
	if len(changes) != 1 || stats.Directories != 3 {
		t.Fatalf("%d changes, %d directories entered; want 1 and 3", len(changes), stats.Directories)
	}
	if _, stats := DiffCounted(next, next); stats.Directories != 0 {
		t.Fatalf("a diff with itself entered %d directories", stats.Directories)
	}
}

// directories returns every directory of a tree by identity.
func directories(d *directory, into map[*directory]bool) map[*directory]bool {
	into[d] = true
	for _, e := range d.entries {
		if e.sub != nil {
			directories(e.sub, into)
		}
	}
	return into
}

func TestEditCopiesOnlyTheDirectoriesOnItsPaths(t *testing.T) {
	t.Parallel()
	files := map[string]Leaf{}
	for i := range 5000 {
		files[fmt.Sprintf("a%d/b%d/c%d/f%d", i%10, i%100, i%1000, i)] = leafOf(fmt.Sprint(i))
	}
	old := build(t, files)
	edits := map[string]*Leaf{"a0/b0/c0/f0": ptr(leafOf("x")), "a0/b0/c0/f1000": nil, "a3/b3/c3/new": ptr(leafOf("y"))}
	next, err := old.Edit(maps.All(edits))
	if err != nil {
		t.Fatal(err)
	}
	before, made := directories(old.root, map[*directory]bool{}), 0
	for d := range directories(next.root, map[*directory]bool{}) {
		if !before[d] {
			made++
		}
	}
	if want := 1 + 3 + 3; made != want { // the root and two chains
		t.Fatalf("%d directories made, want %d of %d", made, want, len(before))
	}
	same, err := next.Edit(maps.All(map[string]*Leaf{"a0/b0/c0/f0": ptr(leafOf("x")), "gone/x": nil}))
	if err != nil || same != next {
		t.Fatalf("an edit without effect made another tree (%v)", err)
	}
}

// pathGen makes paths that collide, nest and sort oddly.
func pathGen() *rapid.Generator[string] {
	name := rapid.SampledFrom([]string{"a", "b", "a.go", "a-b", "ab", "a0", "\xff", " "})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "names"), "/")
	})
}

func TestTreeEqualsItsNaiveTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := map[string]Leaf{}
		var tree *Tree
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			edits := map[string]*Leaf{}
			for path, text := range rapid.MapOfN(pathGen(), rapid.SampledFrom([]string{"", "", "1", "2", "3"}), 0, 12).Draw(t, "edits") {
				if edits[path] = nil; text != "" {
					edits[path] = ptr(leafOf(text))
				}
			}
			tree, model = checkEdit(t, tree, model, edits)
		}
	})
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkEdit applies edits to tree and model and compares them in every respect.
func checkEdit(t failer, tree *Tree, model map[string]Leaf, edits map[string]*Leaf) (*Tree, map[string]Leaf) {
	t.Helper()
	want := maps.Clone(model)
	for path, leaf := range edits {
		if delete(want, path); leaf != nil {
			want[path] = *leaf
		}
	}
	next, err := tree.Edit(maps.All(edits))
	if conflicts(want) {
		if !errors.Is(err, ErrPathConflict) {
			t.Fatalf("got %v, want a conflict in %v", err, want)
		}
		return tree, model
	}
	if err != nil {
		t.Fatalf("edit: %v", err)
	}
	if next.Root() != naiveRoot(want) || next.Len() != len(want) || !maps.Equal(flat(next), want) {
		t.Fatalf("edit gave %v, want %v", flat(next), want)
	}
	if flat := flat(tree); !maps.Equal(flat, model) {
		t.Fatalf("edit changed its receiver to %v", flat)
	}
	kinds := naiveDiff(model, want)
	for _, c := range Diff(tree, next) {
		kind := c.Kind
		if kind == Renamed {
			if kinds[c.From] != Removed || model[c.From].Content != c.Leaf.Content {
				t.Fatalf("wrong rename %+v", c)
			}
			delete(kinds, c.From)
			kind = Added
		}
		if kinds[c.Path] != kind {
			t.Fatalf("diff says %v of %q, want %v", c.Kind, c.Path, kinds[c.Path])
		}
		delete(kinds, c.Path)
	}
	if len(kinds) != 0 {
		t.Fatalf("diff misses %v", kinds)
	}
	return next, want
}

func FuzzTree(f *testing.F) {
	f.Add("a/b=1\na.go=2", "a/b=\na=3")
	f.Add("a=1", "a/b=1")
	f.Fuzz(func(t *testing.T, first, second string) {
		var tree *Tree
		model := map[string]Leaf{}
		for _, script := range []string{first, second} {
			edits := map[string]*Leaf{}
			for path, text := range lines(script) {
				if checkPath(path) != nil {
					continue
				}
				if edits[path] = nil; text != "" {
					edits[path] = ptr(leafOf(text))
				}
			}
			tree, model = checkEdit(t, tree, model, edits)
		}
	})
}

func lines(script string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.SplitSeq(script, "\n") {
			path, text, _ := strings.Cut(line, "=")
			if !yield(path, text) {
				return
			}
		}
	}
}

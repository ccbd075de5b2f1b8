package merkle

import (
	"errors"
	"fmt"
	"iter"
	"sort"
	"strings"
)

// ErrBadPath is returned for a path that no tree can hold: empty, absolute, ending in a
// slash, or with an empty, "." or ".." component or a NUL byte.
var ErrBadPath = errors.New("bad path in tree")

// ErrPathConflict is returned when a path is both a file and the directory of another.
var ErrPathConflict = errors.New("path is both a file and a directory")

// Tree is an immutable Merkle tree of files. The nil and the zero Tree are empty. All
// methods may be called from several goroutines, and trees that come from one another by
// Edit share the directories in which they do not differ.
//
// Paths are raw bytes with slashes. The order of a tree is that of whole paths compared
// byte by byte: "a.go" comes before "a/b", because '.' is less than '/', and "a0" after it.
// Within a directory that is the order of the names, a directory's taken with a slash
// at its end, which is also git's order.
type Tree struct {
	root *directory
}

// directory is one node. It is never changed once made, and never empty except as a root.
type directory struct {
	entries []entry // sorted by compareEntries
	hash    Hash
	files   int // in the whole subtree
}

// entry is a file or, when sub is not nil, a directory.
type entry struct {
	name string
	sub  *directory
	leaf Leaf
}

func (e entry) key() entryKey { return entryKey{e.name, e.sub != nil} }

// entryKey orders entries of a directory so that a walk yields paths in byte order.
type entryKey struct {
	name string
	dir  bool
}

// compare returns the order of k and l as if directories' names ended in a slash.
func (k entryKey) compare(l entryKey) int {
	n := min(len(k.name), len(l.name))
	if c := strings.Compare(k.name[:n], l.name[:n]); c != 0 {
		return c
	}
	return int(k.at(n)) - int(l.at(n))
}

// at returns one more than the byte at n, and 0 behind the end.
func (k entryKey) at(n int) int16 {
	switch {
	case n < len(k.name):
		return int16(k.name[n]) + 1
	case k.dir:
		return '/' + 1
	}
	return 0
}

// Build makes a tree of leaves, which may come in any order. Of two leaves with one path
// the last counts. It returns ErrBadPath or ErrPathConflict, wrapped with the path.
func Build(leaves iter.Seq2[string, Leaf]) (*Tree, error) {
	var empty *Tree
	return empty.Edit(func(yield func(string, *Leaf) bool) {
		for path, leaf := range leaves {
			if !yield(path, &leaf) {
				return
			}
		}
	})
}

// Root returns the hash that proves the tree: trees with equal roots hold equal contents
// under equal paths. The empty tree has a root too.
func (t *Tree) Root() Hash { return t.dir().hash }

// Len returns the number of files.
func (t *Tree) Len() int { return t.dir().files }

// Lookup returns the leaf at path. A directory is no leaf.
func (t *Tree) Lookup(path string) (Leaf, bool) {
	d := t.dir()
	for {
		name, rest, nested := strings.Cut(path, "/")
		i, ok := d.find(entryKey{name, nested})
		if !ok {
			return Leaf{}, false
		}
		if !nested {
			return d.entries[i].leaf, true
		}
		d, path = d.entries[i].sub, rest
	}
}

// All yields every file in the order of the tree.
func (t *Tree) All() iter.Seq2[string, Leaf] {
	return func(yield func(string, Leaf) bool) { t.dir().walk("", yield) }
}

func (t *Tree) dir() *directory {
	if t == nil || t.root == nil {
		return emptyDirectory()
	}
	return t.root
}

func emptyDirectory() *directory { return newDirectory(nil) }

func newDirectory(entries []entry) *directory {
	d := &directory{entries: entries}
	d.hash = hashEntries(entries)
	for _, e := range entries {
		if e.sub != nil {
			d.files += e.sub.files
		} else {
			d.files++
		}
	}
	return d
}

// find returns the place of key, and whether it is there.
func (d *directory) find(key entryKey) (int, bool) {
	return findEntry(d.entries, key)
}

func findEntry(entries []entry, key entryKey) (int, bool) {
	return sort.Find(len(entries), func(i int) int { return key.compare(entries[i].key()) })
}

// walk yields the files below d with prefix before their paths. It reports whether the
// iteration goes on.
func (d *directory) walk(prefix string, yield func(string, Leaf) bool) bool {
	for _, e := range d.entries {
		if e.sub != nil {
			if !e.sub.walk(prefix+e.name+"/", yield) {
				return false
			}
		} else if !yield(prefix+e.name, e.leaf) {
			return false
		}
	}
	return true
}

// checkPath returns ErrBadPath for a path that no tree can hold.
func checkPath(path string) error {
	rest, nested := path, true
	for nested {
		var name string
		name, rest, nested = strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("%w: %s", ErrBadPath, QuotePath(path))
		}
	}
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("%w: %s", ErrBadPath, QuotePath(path))
	}
	return nil
}

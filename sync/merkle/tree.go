package merkle

import (
	"errors"
	"iter"
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

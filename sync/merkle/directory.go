package merkle

import (
	"fmt"
	"sort"
	"strings"
)

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

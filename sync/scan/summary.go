package scan

import (
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Summary counts what a scan saw and did.
type Summary struct {
	// Files and Bytes are those of the tree, Directories those entered or remembered.
	Files, Directories int
	Bytes              int64
	// LeftOut counts the paths outside the tree by reason. An ignored directory counts
	// once, whatever is in it.
	LeftOut map[store.LeftOut]int

	// Listed counts the directories whose names were read, Stated the files asked for
	// their stat, Read the files opened.
	Listed, Stated, Read int
	// Linked counts those of the files asked for their stat that have several hard links. A
	// check asks for all of them, with a live watcher too.
	Linked int
	// HashedBytes is how many bytes xxHash64 was taken of, and DigestedBytes SHA-256.
	HashedBytes, DigestedBytes int64
	// Vanished counts paths that the scan met and then could not find: the tree moved
	// under it, and the next scan looks again.
	Vanished int
}

// Skipped is the number of paths left out.
func (s Summary) Skipped() int {
	n := 0
	for _, count := range s.LeftOut {
		n += count
	}
	return n
}

// reasons gives each reason for leaving out a place in totals.
var reasons = [...]store.LeftOut{
	store.LeftOutIgnored, store.LeftOutBinary, store.LeftOutMinified, store.LeftOutTooLarge, store.LeftOutSecret,
	store.LeftOutSymlink, store.LeftOutSpecial, store.LeftOutUnreadable, store.LeftOutNested, store.LeftOutUnstable,
	store.LeftOutData,
}

// totals are the counts of a subtree, kept in its node so that what did not change is not
// counted again.
type totals struct {
	files, directories int
	bytes              int64
	leftOut            [len(reasons)]int
}

// add sets the totals of n from its entries and those of its directories.
func (n *node) add() {
	t := totals{directories: 1}
	t.count(&n.entry)
	for i := range n.files {
		t.count(&n.files[i])
	}
	for _, d := range n.dirs {
		t.files += d.total.files
		t.directories += d.total.directories
		t.bytes += d.total.bytes
		for i, c := range d.total.leftOut {
			t.leftOut[i] += c
		}
	}
	if n.entry.LeftOut != "" {
		t.directories--
	}
	n.total = t
}

func (t *totals) count(e *store.StatEntry) {
	if e.LeftOut == "" {
		if !e.Dir {
			t.files++
			t.bytes += e.Stat.Size
		}
		return
	}
	for i, reason := range reasons {
		if e.LeftOut == reason {
			t.leftOut[i]++
			return
		}
	}
}

// Summary counts the index; what a scan did is left zero.
func (x *Index) Summary() Summary {
	s := Summary{LeftOut: map[store.LeftOut]int{}}
	if x == nil || x.root == nil {
		return s
	}
	t := x.root.total
	s.Files, s.Directories, s.Bytes = t.files, t.directories, t.bytes
	for i, reason := range reasons {
		if t.leftOut[i] > 0 {
			s.LeftOut[reason] = t.leftOut[i]
		}
	}
	return s
}

// LeafChange is a path whose leaf differs from the index before; Leaf is nil when it is no
// longer in the tree.
type LeafChange struct {
	Path string
	Leaf *merkle.Leaf
}

// Kept is a file or directory that could not be read and whose last known state stays in
// the index until it can.
type Kept struct {
	Path   string
	Reason store.LeftOut
	Err    error
}

// Result is the outcome of a scan: the next index, and its differences from the one
// before, each list sorted by path.
type Result struct {
	Index   *Index
	Summary Summary
	// Changed are the differences of the tree.
	Changed []LeafChange
	// Stats and StatRemoves turn the entries of the index before into those of Index.
	Stats       []store.StatEntry
	StatRemoves []string
	Kept        []Kept
}

// Edits yields the differences as merkle.Tree.Edit takes them.
func (r *Result) Edits() func(yield func(string, *merkle.Leaf) bool) {
	return func(yield func(string, *merkle.Leaf) bool) {
		for _, c := range r.Changed {
			if !yield(c.Path, c.Leaf) {
				return
			}
		}
	}
}

package merkle

import (
	"slices"
	"strings"
)

// DiffStats counts the work of a diff.
type DiffStats struct {
	// Directories is how many directories were entered, in either tree: only those whose
	// hashes differ or that exist on one side, so it is bounded by the changes.
	Directories int
}

// Diff lists what turns the old tree into the new one, sorted by path.
//
// An added path whose content was removed elsewhere is Renamed. When several paths share
// a content, pairs with the same base name are made first and then those that are left, in
// either case both sides in the order of paths, so that equal trees give equal renames.
// A file that takes the place of a directory, or the reverse, is a removal and an addition.
func Diff(old, new *Tree) []Change {
	changes, _ := DiffCounted(old, new)
	return changes
}

// DiffCounted is Diff with a count of the work done.
func DiffCounted(old, new *Tree) ([]Change, DiffStats) {
	var d differ
	d.directories(old.dir(), new.dir(), "")
	changes := append(d.modified, pairRenames(d.removed, d.added)...)
	slices.SortFunc(changes, func(a, b Change) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return int(a.Kind) - int(b.Kind)
	})
	return changes, d.stats
}

type differ struct {
	modified, removed, added []Change
	stats                    DiffStats
}

// directories compares two directories at prefix. Either may be nil.
func (d *differ) directories(old, new *directory, prefix string) {
	if old != nil && new != nil && old.hash == new.hash {
		return
	}
	d.stats.Directories++
	var before, after []entry
	if old != nil {
		before = old.entries
	}
	if new != nil {
		after = new.entries
	}
	for len(before) > 0 || len(after) > 0 {
		switch order := compareFirst(before, after); {
		case order < 0:
			d.entries(&before[0], nil, prefix)
			before = before[1:]
		case order > 0:
			d.entries(nil, &after[0], prefix)
			after = after[1:]
		default:
			d.entries(&before[0], &after[0], prefix)
			before, after = before[1:], after[1:]
		}
	}
}

func compareFirst(before, after []entry) int {
	switch {
	case len(before) == 0:
		return 1
	case len(after) == 0:
		return -1
	}
	return before[0].key().compare(after[0].key())
}

// entries compares two entries of one name and kind, one of which may be missing.
func (d *differ) entries(old, new *entry, prefix string) {
	either := old
	if either == nil {
		either = new
	}
	if either.sub != nil {
		var before, after *directory
		if old != nil {
			before = old.sub
		}
		if new != nil {
			after = new.sub
		}
		d.directories(before, after, prefix+either.name+"/")
		return
	}
	path := prefix + either.name
	switch {
	case old == nil:
		d.added = append(d.added, Change{Kind: Added, Path: path, Leaf: new.leaf})
	case new == nil:
		d.removed = append(d.removed, Change{Kind: Removed, Path: path, Leaf: old.leaf})
	case old.leaf.Content != new.leaf.Content:
		d.modified = append(d.modified, Change{Kind: Modified, Path: path, Leaf: new.leaf})
	}
}

// pairRenames turns pairs of equal content into renames. Both lists are in path order.
func pairRenames(removed, added []Change) []Change {
	from := make([]int, len(added)) // 1 + place in removed, 0 for none
	used := make([]bool, len(removed))
	pairBy(removed, added, from, used, base)
	pairBy(removed, added, from, used, func(string) string { return "" })
	changes := make([]Change, 0, len(removed)+len(added))
	for i, c := range added {
		if from[i] != 0 {
			c.Kind, c.From = Renamed, removed[from[i]-1].Path
		}
		changes = append(changes, c)
	}
	for j, c := range removed {
		if !used[j] {
			changes = append(changes, c)
		}
	}
	return changes
}

// pairBy pairs what is unpaired and equal in content and in what trait says of the path,
// first with first.
func pairBy(removed, added []Change, from []int, used []bool, trait func(string) string) {
	type group struct {
		content Hash
		trait   string
	}
	gone := make(map[group][]int, len(removed))
	for j, c := range removed {
		if !used[j] {
			g := group{c.Leaf.Content, trait(c.Path)}
			gone[g] = append(gone[g], j)
		}
	}
	for i, c := range added {
		if from[i] != 0 {
			continue
		}
		g := group{c.Leaf.Content, trait(c.Path)}
		if rest := gone[g]; len(rest) > 0 {
			used[rest[0]], from[i] = true, rest[0]+1
			gone[g] = rest[1:]
		}
	}
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

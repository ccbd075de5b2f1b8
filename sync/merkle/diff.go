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

// Diff lists what turns the tree before into the one after, sorted by path.
//
// An added path whose content was removed elsewhere is Renamed. When several paths share
// a content, pairs with the same base name are made first and then those that are left, in
// either case both sides in the order of paths, so that equal trees give equal renames.
// A file that takes the place of a directory, or the reverse, is a removal and an addition.
func Diff(before, after *Tree) []Change {
	changes, _ := DiffCounted(before, after)
	return changes
}

// DiffCounted is Diff with a count of the work done.
func DiffCounted(before, after *Tree) ([]Change, DiffStats) {
	var d differ
	d.directories(before.dir(), after.dir(), "")
	changes := slices.Concat(d.modified, pairRenames(d.removed, d.added))
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
func (d *differ) directories(before, after *directory, prefix string) {
	if before != nil && after != nil && before.hash == after.hash {
		return
	}
	d.stats.Directories++
	var olds, news []entry
	if before != nil {
		olds = before.entries
	}
	if after != nil {
		news = after.entries
	}
	for len(olds) > 0 || len(news) > 0 {
		switch order := compareFirst(olds, news); {
		case order < 0:
			d.entries(&olds[0], nil, prefix)
			olds = olds[1:]
		case order > 0:
			d.entries(nil, &news[0], prefix)
			news = news[1:]
		default:
			d.entries(&olds[0], &news[0], prefix)
			olds, news = olds[1:], news[1:]
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
func (d *differ) entries(before, after *entry, prefix string) {
	either := before
	if either == nil {
		either = after
	}
	if either.sub != nil {
		d.directories(before.directory(), after.directory(), prefix+either.name+"/")
		return
	}
	path := prefix + either.name
	switch {
	case before == nil:
		d.added = append(d.added, Change{Kind: Added, Path: path, Leaf: after.leaf})
	case after == nil:
		d.removed = append(d.removed, Change{Kind: Removed, Path: path, Leaf: before.leaf})
	case before.leaf.Content != after.leaf.Content:
		d.modified = append(d.modified, Change{Kind: Modified, Path: path, Leaf: after.leaf})
	}
}

// directory returns the directory of an entry that may be missing.
func (e *entry) directory() *directory {
	if e == nil {
		return nil
	}
	return e.sub
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

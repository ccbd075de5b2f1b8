package scan

import (
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// finish returns the node of a visited directory: the prior node when nothing in or below it
// differs, nil when it is gone. It adds the differences to r.
func (v *visit) finish(r *Result) *node {
	if v.kept {
		v.gather(r)
		return v.prior
	}
	if v.gone {
		v.dropNode(v.prior)
		v.gather(r)
		return nil
	}
	n := v.next
	same := v.prior != nil && !v.prior.doubted && n.rules == v.prior.rules
	dirs := n.dirs
	if len(v.below) > 0 {
		dirs = slices.Clone(n.dirs) // those that are not entered
		for _, b := range v.below {
			if d := b.finish(r); d != nil {
				dirs = append(dirs, d)
			} else {
				v.moved = true
			}
		}
		slices.SortFunc(dirs, func(a, b *node) int { return strings.Compare(a.entry.Path, b.entry.Path) })
	}
	if same && slices.Equal(dirs, v.prior.dirs) {
		n.dirs = v.prior.dirs
	} else {
		n.dirs, same = dirs, false
	}
	if n.entry.LeftOut == "" && (v.relisted || v.moved) {
		n.entry.XX = n.names()
	}
	n.entry.Racy = n.entry.Racy || v.moved
	var before *store.StatEntry
	if v.prior != nil {
		before = &v.prior.entry
	}
	v.record(before, &n.entry)
	v.gather(r)
	if same && n.entry == v.prior.entry && sameFiles(n.files, v.prior.files) {
		return v.prior
	}
	n.add()
	return n
}

// sameFiles reports whether two lists share their array; a list that differs was copied.
func sameFiles(a, b []store.StatEntry) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (v *visit) gather(r *Result) {
	r.Changed = append(r.Changed, v.delta.Changed...)
	r.Stats = append(r.Stats, v.delta.Stats...)
	r.StatRemoves = append(r.StatRemoves, v.delta.StatRemoves...)
	r.Kept = append(r.Kept, v.delta.Kept...)
}

// record adds the difference of an entry that exists now to r; before is nil for a new one.
func (v *visit) record(before, now *store.StatEntry) {
	if before == now || (before != nil && *before == *now) {
		return
	}
	d := &v.delta
	d.Stats = append(d.Stats, *now)
	was := before != nil && inTree(before)
	switch {
	case inTree(now) && (!was || before.Content != now.Content):
		d.Changed = append(d.Changed, LeafChange{now.Path, &merkle.Leaf{XX: now.XX, Content: now.Content}})
	case was && !inTree(now):
		d.Changed = append(d.Changed, LeafChange{Path: now.Path})
	}
}

// drop records the removal of an entry.
func (v *visit) drop(before *store.StatEntry) {
	v.delta.StatRemoves = append(v.delta.StatRemoves, before.Path)
	if inTree(before) {
		v.delta.Changed = append(v.delta.Changed, LeafChange{Path: before.Path})
	}
}

// dropNode records the removal of a directory with everything below it.
func (v *visit) dropNode(n *node) {
	if n == nil {
		return
	}
	v.delta.StatRemoves = append(v.delta.StatRemoves, n.entry.Path)
	v.dropBelow(n)
}

// dropBelow records the removal of everything below a directory.
func (v *visit) dropBelow(n *node) {
	if n == nil {
		return
	}
	for i := range n.files {
		v.drop(&n.files[i])
	}
	for _, d := range n.dirs {
		v.dropNode(d)
	}
}

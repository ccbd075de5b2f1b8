package merkle

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// edit is one path to be set, or removed when leaf is nil.
type edit struct {
	path string
	leaf *Leaf
}

// Edit returns the tree in which every path of edits is set to its leaf, or removed when
// the leaf is nil; removing what is not there changes nothing, and directories left empty
// vanish. Of two edits of one path the last counts. t is not changed: the new tree shares
// every directory that no changed path lies in, and an Edit without effect returns t.
// It returns ErrBadPath or ErrPathConflict, judged on the outcome, so that a file may take
// the place of a directory whose files the same call removes.
func (t *Tree) Edit(edits iter.Seq2[string, *Leaf]) (*Tree, error) {
	list, err := collect(edits)
	if err != nil {
		return nil, err
	}
	old := t.dir()
	next, err := old.apply(list, 0)
	if err != nil {
		return nil, err
	}
	switch {
	case next == old && t != nil:
		return t, nil
	case next == nil:
		return &Tree{}, nil
	}
	return &Tree{root: next}, nil
}

// collect returns the edits sorted by path, one for each path.
func collect(edits iter.Seq2[string, *Leaf]) ([]edit, error) {
	var list []edit
	for path, leaf := range edits {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		list = append(list, edit{path, leaf})
	}
	slices.SortStableFunc(list, func(a, b edit) int { return strings.Compare(a.path, b.path) })
	kept := list[:0]
	for i, e := range list {
		if i+1 < len(list) && list[i+1].path == e.path {
			continue
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// apply returns the directory that edits make of d, nil when it would be empty, or d
// itself when they change nothing. The first skip bytes of every path lead to d.
func (d *directory) apply(edits []edit, skip int) (*directory, error) {
	if len(edits) == 0 {
		return d, nil
	}
	m := merge{old: d.entries, skip: skip}
	for len(edits) > 0 {
		n := m.sameEntry(edits)
		if err := m.step(edits[:n]); err != nil {
			return nil, err
		}
		edits = edits[n:]
	}
	if !m.changed {
		return d, nil
	}
	m.keep(len(m.old))
	if err := m.checkConflicts(); err != nil {
		return nil, err
	}
	if len(m.out) == 0 {
		return nil, nil
	}
	return newDirectory(m.out), nil
}

// merge runs over the old entries of a directory and over its edits, both in tree order.
// Until something changes it writes nothing.
type merge struct {
	old     []entry
	at      int // old entries before it are dealt with
	skip    int
	out     []entry
	changed bool
	added   []added
}

// added is an entry that was not there before, and might meet its name as the other kind.
type added struct {
	key  entryKey
	path string
}

// sameEntry returns how many of the first edits touch the same entry of the directory.
func (m *merge) sameEntry(edits []edit) int {
	first := edits[0].path[m.skip:]
	slash := strings.IndexByte(first, '/')
	if slash < 0 {
		return 1
	}
	prefix := edits[0].path[:m.skip+slash+1]
	n := 1
	for n < len(edits) && strings.HasPrefix(edits[n].path, prefix) {
		n++
	}
	return n
}

// step applies the edits of one entry. What it leaves unwritten, because nothing changed,
// is written with the next change.
func (m *merge) step(edits []edit) error {
	name, _, nested := strings.Cut(edits[0].path[m.skip:], "/")
	key := entryKey{name, nested}
	i, found := findEntry(m.old[m.at:], key)
	i += m.at
	var before, next entry
	if found {
		before = m.old[i]
	}
	var present bool
	if nested {
		sub := before.sub
		if !found {
			sub = emptyDirectory()
		}
		changed, err := sub.apply(edits, m.skip+len(name)+1)
		if err != nil {
			return err
		}
		if changed == sub {
			return nil
		}
		next.sub, present = changed, changed != nil
	} else {
		leaf := edits[0].leaf
		if (leaf == nil && !found) || (leaf != nil && found && *leaf == before.leaf) {
			return nil
		}
		if present = leaf != nil; present {
			next.leaf = *leaf
		}
	}
	next.name = before.name
	if !found {
		next.name = strings.Clone(name)
		m.added = append(m.added, added{key, edits[0].path})
	}
	m.replace(i, found, next, present)
	return nil
}

// replace writes what lies before place i and then, when there is one, the new entry
// instead of the old one.
func (m *merge) replace(i int, found bool, next entry, present bool) {
	m.keep(i)
	m.changed = true
	if present {
		m.out = append(m.out, next)
	}
	if found {
		m.at = i + 1
	}
}

// keep writes the old entries up to place i.
func (m *merge) keep(i int) {
	if m.out == nil {
		m.out = make([]entry, 0, len(m.old)+1)
	}
	m.out = append(m.out, m.old[m.at:i]...)
	m.at = i
}

// checkConflicts returns ErrPathConflict when an added entry meets its name as the other
// kind in what was written.
func (m *merge) checkConflicts() error {
	for _, a := range m.added {
		if _, both := findEntry(m.out, entryKey{a.key.name, !a.key.dir}); both {
			return fmt.Errorf("%w: %s", ErrPathConflict, QuotePath(a.path))
		}
	}
	return nil
}

package scan

import (
	"strings"
)

// Dirty is a set of paths, relative to the root, at which the disk may differ from an
// index. The zero value is empty. It is not safe for use by several goroutines.
type Dirty struct {
	root  scope
	marks int
}

// scope is what is to be looked at of one entry.
type scope struct {
	deep  bool // everything at and below it
	self  bool // of a directory its names, of a file its stat
	read  bool // a file's bytes, even if its stat is as before
	below map[string]*scope
}

// maxMarks is how many entries a set holds before it becomes the whole tree: a stat proof
// costs less than finding the way to each of them.
const maxMarks = 20_000

// Look adds an entry whose stat may differ: a file, or a directory with the names in it.
func (d *Dirty) Look(path string) {
	if s := d.at(path); s != nil {
		s.self = true
	}
}

// Touch adds an entry whose bytes may differ even where its stat does not.
func (d *Dirty) Touch(path string) {
	if s := d.at(path); s != nil {
		s.self, s.read = true, true
	}
}

// Name adds a name that may have come, gone, or come to stand for something else: the
// directory above is listed, and whatever is at or below the name is looked at.
func (d *Dirty) Name(path string) {
	if path == "" {
		d.All()
		return
	}
	d.Look(parentOf(path))
	if s := d.at(path); s != nil {
		s.deep, s.below = true, nil
	}
}

// All makes it the whole tree.
func (d *Dirty) All() { *d = Dirty{root: scope{deep: true}, marks: 1} }

// Empty reports whether there is nothing to look at.
func (d *Dirty) Empty() bool { return d.marks == 0 }

// Whole reports whether it is the whole tree.
func (d *Dirty) Whole() bool { return d.root.deep }

// Covers reports whether a scan of d looks at a path.
func (d *Dirty) Covers(path string) bool {
	s := &d.root
	for rest, more := path, path != ""; more && !s.deep; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if s = s.below[name]; s == nil {
			return false
		}
	}
	return s.deep || s.self
}

// at returns the scope of a path, or nil when all of it is looked at anyway.
func (d *Dirty) at(path string) *scope {
	if d.marks >= maxMarks {
		d.All()
	}
	s := &d.root
	for rest, more := path, path != ""; more && !s.deep; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		next := s.below[name]
		if next == nil {
			next = &scope{}
			if s.below == nil {
				s.below = map[string]*scope{}
			}
			s.below[name] = next
		}
		s = next
	}
	if s.deep {
		return nil
	}
	if !s.self {
		d.marks++
	}
	return s
}

// narrow decides how much of a directory a visit may leave alone. It clears v.part where
// what is known does not bear that: everything at and below is looked at then.
func (v *visit) narrow() {
	p := v.prior
	switch {
	case v.part == nil:
	case v.part.deep, v.changed, p == nil, p.doubted, p.entry.LeftOut != "", !p.rules.known, p.rules.parent != v.rules:
		v.part = nil
	default:
		for _, name := range ruleFiles {
			if v.part.below[name] != nil {
				v.part = nil // what it says holds for everything below
				return
			}
		}
	}
}

// passes reports whether a directory needs no look itself, only some directories below it.
func (v *visit) passes() bool {
	if v.part == nil || v.part.self {
		return false
	}
	for name := range v.part.below {
		if d := v.prior.dir(join(v.path, name)); d == nil {
			return false
		}
	}
	return true
}

// unseen reports that nothing was heard of an entry of a directory that is looked at in
// part.
func (v *visit) unseen(name string) bool { return v.part != nil && v.part.below[name] == nil }

// doubts reports that a file's stat does not vouch for its bytes.
func (v *visit) doubts(name string) bool {
	return v.part != nil && v.part.below[name] != nil && v.part.below[name].read
}

// enter makes the visit of a directory below that was known, or returns nil when nothing
// was heard of it.
func (v *visit) enter(d *node) *visit {
	b := &visit{path: d.entry.Path, prior: d, rules: v.next.rules.rules}
	if v.part != nil {
		if b.part = v.part.below[baseOf(d.entry.Path)]; b.part == nil {
			return nil
		}
	}
	return b
}

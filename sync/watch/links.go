package watch

import (
	"github.com/freshet/freshet/sync/scan"
)

// links are the files that have further names, by which they may be written unheard of:
// the kernel tells only those who watch the directory of the name that was used.
type links struct {
	// told are those met since the last Prove, and before those that it had looked at.
	told, before map[string]struct{}
	fresh        []string // of told, those not in before
}

func newLinks() links {
	return links{told: map[string]struct{}{}, before: map[string]struct{}{}}
}

// look has every linked file looked at again, which says whether it still is one.
func (l *links) look(dirty *scan.Dirty) {
	for path := range l.told {
		dirty.Look(path)
	}
	l.told, l.before = l.before, l.told
	clear(l.told)
	l.fresh = nil
}

// Linked notes a file that may be written through another name: it is looked at each time.
func (w *Watcher) Linked(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.links
	if _, ok := l.before[path]; !ok {
		l.fresh = append(l.fresh, path)
	}
	l.told[path] = struct{}{}
}

// Siblings returns the files of an index that are one with a file that was not linked when
// it was last looked at, and that were not looked at since. They may have been written by
// the new name, and must be scanned before the index is true.
func (w *Watcher) Siblings(index *scan.Index) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.links
	inodes := map[uint64]bool{}
	for _, path := range l.fresh {
		if e, ok := index.Lookup(path); ok {
			inodes[e.Stat.Inode] = true
		}
	}
	if l.fresh = nil; len(inodes) == 0 {
		return nil
	}
	var names []string
	for e := range index.Entries() {
		if _, told := l.told[e.Path]; !told && !e.Dir && inodes[e.Stat.Inode] {
			names = append(names, e.Path)
		}
	}
	return names
}

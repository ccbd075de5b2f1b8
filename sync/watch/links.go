package watch

import (
	"github.com/freshet/freshet/sync/scan"
)

// links are the files with several hard links. A write through another link may have no
// event: the kernel reports it only for the directory of the link that was used.
type links struct {
	// told are the files that scans met since the last Prove, before those of earlier ones.
	told, before map[string]struct{}
	fresh        []string // of told, those not in before
}

func newLinks() links {
	return links{told: map[string]struct{}{}, before: map[string]struct{}{}}
}

// look marks every linked file as dirty; its scan tells whether it still has several links.
func (l *links) look(dirty *scan.Dirty) {
	for path := range l.told {
		dirty.Look(path)
	}
	l.told, l.before = l.before, l.told
	clear(l.told)
	l.fresh = nil
}

// Linked records a file that may be written through another hard link: every Prove returns it.
func (w *Watcher) Linked(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.links
	if _, ok := l.before[path]; !ok {
		l.fresh = append(l.fresh, path)
	}
	l.told[path] = struct{}{}
}

// Siblings returns the files of an index that share an inode with a file that got its second
// link since it was last scanned, and that were not scanned since. They may have been written
// through the new link and must be scanned to bring the index up to date.
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

package scan

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/ignore"
	"github.com/freshet/freshet/sync/merkle"
)

// Index is what a scan saw: every file and directory with its stat, and the reason of each
// that is left out. It is immutable; indexes that come from one another by Scan share the
// directories that did not change. The nil Index has seen nothing.
type Index struct {
	root    *node
	exclude store.StatEntry // .git/info/exclude, zero when there is none
	rules   *ignore.Rules   // what exclude says
	known   bool            // rules were read, not only remembered
}

// node is one directory. Nodes are never changed once a scan has returned them.
type node struct {
	entry store.StatEntry   // of the directory; XX digests the names in it
	files []store.StatEntry // everything but directories, sorted by path
	dirs  []*node           // sorted by path
	rules ruleState
	total totals
	// doubted is set by LoadIndex when the entries are not those that XX digests: the
	// directory is listed again.
	doubted bool
}

// ruleState is the ignore rules by which a directory's entries were decided.
type ruleState struct {
	known   bool          // false after loading: only the digests are remembered
	parent  *ignore.Rules // of the directory above
	rules   *ignore.Rules
	digests [len(ruleFiles)]uint64 // xxHash64 of the ignore files, 0 for none
}

// ruleFiles are the ignore files of a directory, the last one with the last word.
var ruleFiles = [...]string{ignore.GitIgnore, ignore.FreshetIgnore}

// LoadIndex makes an index of the entries of an earlier scan, in any order, as a store
// kept them. It is robust against missing entries: a directory that is not remembered
// whole is listed again. Entries made under another Version must not be loaded.
func LoadIndex(entries iter.Seq2[store.StatEntry, error]) (*Index, error) {
	x := &Index{}
	nodes := map[string]*node{}
	var at func(path string) *node
	at = func(path string) *node {
		n := nodes[path]
		if n == nil {
			n = &node{entry: store.StatEntry{Path: path, Dir: true}}
			nodes[path] = n
			if path == "" {
				x.root = n
			} else {
				above := at(parentOf(path))
				above.dirs = append(above.dirs, n)
			}
		}
		return n
	}
	for entry, err := range entries {
		switch {
		case err != nil:
			return nil, err
		case entry.Path == ignore.GitExclude:
			x.exclude = entry
		case entry.Dir:
			at(entry.Path).entry = entry
		default:
			n := at(parentOf(entry.Path))
			n.files = append(n.files, entry)
		}
	}
	if x.root != nil {
		x.root.settle()
	}
	return x, nil
}

// settle sorts what was loaded, adds up, and distrusts what is not whole.
func (n *node) settle() {
	slices.SortFunc(n.files, func(a, b store.StatEntry) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(n.dirs, func(a, b *node) int { return strings.Compare(a.entry.Path, b.entry.Path) })
	for _, d := range n.dirs {
		d.settle()
	}
	for i, name := range ruleFiles {
		if f := n.file(name); f != nil {
			n.rules.digests[i] = f.XX
		}
	}
	if n.entry.LeftOut == "" && n.names() != n.entry.XX {
		n.doubted = true
	}
	n.add()
}

// names digests the names in the directory with their kinds, so that an index that lost an
// entry is not taken for a directory without it. It is never 0.
func (n *node) names() uint64 {
	d := xxhash.New()
	var length [5]byte
	write := func(kind byte, name string) {
		length[0] = kind
		binary.BigEndian.PutUint32(length[1:], uint32(len(name)))
		_, _ = d.Write(length[:])
		_, _ = d.WriteString(name)
	}
	for i := range n.files {
		write('f', baseOf(n.files[i].Path))
	}
	for _, sub := range n.dirs {
		write('d', baseOf(sub.entry.Path))
	}
	return d.Sum64() | 1
}

// file returns the entry with a name, or nil.
func (n *node) file(name string) *store.StatEntry {
	if n == nil {
		return nil
	}
	skip := len(n.entry.Path)
	if skip > 0 {
		skip++
	}
	i, ok := slices.BinarySearchFunc(n.files, name, func(e store.StatEntry, name string) int {
		return strings.Compare(e.Path[skip:], name)
	})
	if !ok {
		return nil
	}
	return &n.files[i]
}

// dir returns the directory at path below n, or nil.
func (n *node) dir(path string) *node {
	if n == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(n.dirs, path, func(d *node, path string) int {
		return strings.Compare(d.entry.Path, path)
	})
	if !ok {
		return nil
	}
	return n.dirs[i]
}

// Lookup returns what is known of a path, file or directory.
func (x *Index) Lookup(path string) (store.StatEntry, bool) {
	if x == nil || x.root == nil {
		return store.StatEntry{}, false
	}
	n := x.root
	for i := 0; i <= len(path) && path != ""; i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if i == len(path) {
			if f := n.file(baseOf(path)); f != nil {
				return *f, true
			}
		}
		if n = n.dir(path[:i]); n == nil {
			return store.StatEntry{}, false
		}
	}
	return n.entry, true
}

// File returns the file of the tree at path. What is left out is not in the tree.
func (x *Index) File(path string) (store.FileEntry, bool) {
	e, ok := x.Lookup(path)
	if !ok || !inTree(&e) {
		return store.FileEntry{}, false
	}
	return fileOf(&e), true
}

// Files yields the files of the tree, directory by directory.
func (x *Index) Files() iter.Seq[store.FileEntry] {
	return func(yield func(store.FileEntry) bool) {
		for e := range x.Entries() {
			if inTree(&e) && !yield(fileOf(&e)) {
				return
			}
		}
	}
}

// Entries yields everything that a store keeps of the index, directory by directory.
func (x *Index) Entries() iter.Seq[store.StatEntry] {
	return func(yield func(store.StatEntry) bool) {
		if x == nil || (x.exclude.Path != "" && !yield(x.exclude)) || x.root == nil {
			return
		}
		x.root.each(yield)
	}
}

func (n *node) each(yield func(store.StatEntry) bool) bool {
	if !yield(n.entry) {
		return false
	}
	for i := range n.files {
		if !yield(n.files[i]) {
			return false
		}
	}
	for _, d := range n.dirs {
		if !d.each(yield) {
			return false
		}
	}
	return true
}

// Tree builds the Merkle tree of the index. A caller that keeps the tree edits it with
// Result.Edits instead.
func (x *Index) Tree() (*merkle.Tree, error) {
	return merkle.Build(func(yield func(string, merkle.Leaf) bool) {
		for e := range x.Entries() {
			if inTree(&e) && !yield(e.Path, merkle.Leaf{XX: e.XX, Content: e.Content}) {
				return
			}
		}
	})
}

func inTree(e *store.StatEntry) bool { return !e.Dir && e.LeftOut == "" }

func fileOf(e *store.StatEntry) store.FileEntry {
	return store.FileEntry{Path: e.Path, Content: e.Content, Size: e.Stat.Size, Language: e.Language, Flags: e.Flags}
}

func parentOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

func baseOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

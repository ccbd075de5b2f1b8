package ignore

import "strings"

// The names of ignore files, in the order in which a directory's are read.
const (
	GitIgnore     = ".gitignore"
	FreshetIgnore = ".freshetignore"
	// GitExclude is the path, below the root, of the file with the lowest precedence.
	GitExclude = ".git/info/exclude"
)

// File is the bytes of an ignore file. Path names it to people, relative to the root.
type File struct {
	Path string
	Data []byte
}

// Rules are the patterns in force for the entries of one directory: those of its own
// ignore files and, with less precedence, of the directories above. Rules are immutable,
// and nil Rules ignore nothing.
type Rules struct {
	parent *Rules
	list   *list
}

// Child returns the rules for the directory at dir, relative to the root ("" is the root),
// whose parent's rules r are. Later files have precedence over earlier ones. Without
// patterns in files it returns r itself.
func (r *Rules) Child(dir string, files ...File) *Rules {
	for _, f := range files {
		if l := compileList(f.Path, dir, f.Data); l != nil {
			r = &Rules{parent: r, list: l}
		}
	}
	return r
}

// Match says what decided about a path. The zero Match means that no pattern did.
type Match struct {
	Ignored bool
	// File, Line and Pattern name the pattern that decided, which for a path that is not
	// ignored is a negation. Pattern is as written, without trailing spaces.
	File    string
	Line    int
	Pattern string
	// Directory is set by Resolve alone: the directory above the path that is ignored, and
	// the path with it.
	Directory string
}

// Match decides about path, relative to the root, which must be an entry of the directory
// that r is for. It does not look at the directories above path: whoever walks a tree
// does not enter what is ignored.
func (r *Rules) Match(path string, isDir bool) Match {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; r != nil; r = r.parent {
		if p := r.list.match(path, name, isDir); p != nil {
			return Match{Ignored: !p.negative, File: r.list.file, Line: p.line, Pattern: p.text}
		}
	}
	return Match{}
}

// Resolve decides about any path below the root without a walk: it asks read for the
// ignore files of each directory on the way ("" is the root), in their order, and stops
// at the first directory that is ignored. exclude is the rules below all of them.
func Resolve(exclude *Rules, read func(dir string) []File, path string, isDir bool) Match {
	rules := exclude.Child("", read("")...)
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		dir := path[:i]
		if m := rules.Match(dir, true); m.Ignored {
			m.Directory = dir
			return m
		}
		rules = rules.Child(dir, read(dir)...)
	}
	return rules.Match(path, isDir)
}

package scan

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/ignore"
	"github.com/freshet/freshet/sync/merkle"
)

// Errors of Explain, for paths that a tree cannot hold or does not.
var (
	ErrOutside = errors.New("path is outside the root")
	ErrInGit   = errors.New("path is inside .git, which is never part of a tree")
	ErrMissing = errors.New("path does not exist")
)

// Explanation says whether a path is in the tree and why.
type Explanation struct {
	// Path is relative to the root, cleaned.
	Path string
	Dir  bool
	// LeftOut is why the path is not in the tree, "" when it is.
	LeftOut store.LeftOut
	// Detail says in words what decided: the secret's name, the size, the reason why it
	// cannot be read.
	Detail string
	// Directory is the directory above that is left out and the path with it, "" when the
	// decision is about the path itself.
	Directory string
	// Match names the pattern that decided whether the path is ignored; its File is "" when
	// none did. A path in the tree may have one: a negation.
	Match ignore.Match
	// What is known of a file in the tree.
	Size     int64
	Language string
	Flags    store.FileFlags
}

// Explain decides about one path as a scan would, from the disk as it is now. The path is
// relative to the root or an absolute one below it. It returns ErrOutside, ErrInGit or
// ErrMissing, wrapped with the path.
func (s *Scanner) Explain(path string) (Explanation, error) {
	clean, err := s.relative(path)
	if err != nil {
		return Explanation{}, err
	}
	root, _, err := enterRoot(s.root)
	if err != nil {
		return Explanation{}, err
	}
	defer func() { _ = unix.Close(root) }()
	var exclude Index
	s.readExclude(root, s.clock(), &Index{}, &exclude)
	x := explainer{scanner: s, root: root, out: Explanation{Path: clean}}
	x.rules = x.child(exclude.rules, "")
	for i := range len(clean) {
		if clean[i] != '/' {
			continue
		}
		decided, err := x.directory(clean[:i])
		if err != nil {
			return Explanation{}, fmt.Errorf("explain %s: %w", merkle.QuotePath(clean), err)
		}
		if decided {
			x.out.Directory = clean[:i]
			return x.out, nil
		}
	}
	if err := x.entry(clean); err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", merkle.QuotePath(clean), err)
	}
	return x.out, nil
}

// relative cleans a path and refuses what cannot be in the tree.
func (s *Scanner) relative(path string) (string, error) {
	if filepath.IsAbs(path) {
		below, err := filepath.Rel(s.root, path)
		if err != nil {
			return "", fmt.Errorf("%w: %s", ErrOutside, merkle.QuotePath(path))
		}
		path = below
	}
	clean := filepath.Clean(path)
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.IndexByte(clean, 0) >= 0 {
		return "", fmt.Errorf("%w: %s", ErrOutside, merkle.QuotePath(path))
	}
	for part := range strings.SplitSeq(clean, "/") {
		if part == ".git" {
			return "", fmt.Errorf("%w: %s", ErrInGit, merkle.QuotePath(path))
		}
	}
	if clean == "." {
		clean = ""
	}
	return clean, nil
}

// explainer walks from the root to a path.
type explainer struct {
	scanner *Scanner
	root    int
	rules   *ignore.Rules // for the entries of the directory it stands in
	out     Explanation
}

// child returns the rules for the entries of a directory.
func (x *explainer) child(above *ignore.Rules, dir string) *ignore.Rules {
	fd, err := openBeneath(x.root, dir)
	if err != nil {
		return above
	}
	defer func() { _ = unix.Close(fd) }()
	var files []ignore.File
	for _, name := range ruleFiles {
		if data, err := readBounded(fd, name, maxRuleBytes); err == nil {
			files = append(files, ignore.File{Path: join(dir, name), Data: data})
		}
	}
	return above.Child(dir, files...)
}

// stat returns the stat of a path without following a link anywhere on it.
func (x *explainer) stat(path string) (store.Stat, error) {
	if path == "" {
		return fstat(x.root)
	}
	fd, err := openBeneath(x.root, parentOf(path))
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		var stat store.Stat
		if stat, err = statAt(fd, baseOf(path)); err == nil {
			return stat, nil
		}
	}
	if gone(err) {
		return store.Stat{}, ErrMissing
	}
	return store.Stat{}, err
}

// directory decides about a directory on the way, and goes into it when it is entered.
func (x *explainer) directory(path string) (decided bool, err error) {
	stat, err := x.stat(path)
	if err != nil {
		return false, err
	}
	if kind(stat.Mode) == unix.S_IFLNK {
		x.out.LeftOut, x.out.Detail = store.LeftOutSymlink, "a symbolic link is not followed"
		return true, nil
	}
	if kind(stat.Mode) != unix.S_IFDIR {
		return false, ErrMissing
	}
	if m := x.rules.Match(path, true); m.Ignored {
		m.Directory = path
		x.out.LeftOut, x.out.Match = store.LeftOutIgnored, m
		return true, nil
	}
	if x.nested(path) {
		x.out.LeftOut, x.out.Detail = store.LeftOutNested, "the directory is a repository of its own"
		return true, nil
	}
	x.rules = x.child(x.rules, path)
	return false, nil
}

func (x *explainer) nested(dir string) bool {
	_, err := x.stat(join(dir, ".git"))
	return dir != "" && err == nil
}

// entry decides about the path itself.
func (x *explainer) entry(path string) error {
	stat, err := x.stat(path)
	if err != nil {
		return err
	}
	if kind(stat.Mode) == unix.S_IFDIR {
		x.out.Dir = true
		if path == "" {
			return nil
		}
		_, err := x.directory(path)
		return err
	}
	x.out.Size = stat.Size
	x.out.Match = x.rules.Match(path, false)
	switch {
	case x.out.Match.Ignored:
		x.out.LeftOut = store.LeftOutIgnored
	case kind(stat.Mode) == unix.S_IFLNK:
		x.out.LeftOut, x.out.Detail = store.LeftOutSymlink, "a symbolic link is not followed"
	case kind(stat.Mode) != unix.S_IFREG:
		x.out.LeftOut, x.out.Detail = store.LeftOutSpecial, "not a regular file; it is never opened"
	case IsSecret(path):
		x.out.LeftOut, x.out.Detail = store.LeftOutSecret, "the name is that of a secret; the file is never opened"
	case stat.Size > x.scanner.opts.MaxFileBytes:
		x.out.LeftOut = store.LeftOutTooLarge
		x.out.Detail = fmt.Sprintf("%d bytes, over the limit of %d", stat.Size, x.scanner.opts.MaxFileBytes)
	default:
		x.content(path)
	}
	return nil
}

// content decides about the bytes of a regular file.
func (x *explainer) content(path string) {
	data, err := x.read(path)
	switch {
	case err != nil:
		x.out.LeftOut, x.out.Detail = store.LeftOutUnreadable, err.Error()
	case isBinary(data):
		x.out.LeftOut, x.out.Detail = store.LeftOutBinary, "a NUL in the first 8000 bytes, or UTF-16"
	case isMinified(path, data):
		x.out.LeftOut, x.out.Detail = store.LeftOutMinified, "lines longer than a person writes"
	default:
		x.out.Language, x.out.Flags = Classify(path, data)
	}
}

func (x *explainer) read(path string) ([]byte, error) {
	fd, err := openBeneath(x.root, parentOf(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return readBounded(fd, baseOf(path), x.scanner.opts.MaxFileBytes)
}

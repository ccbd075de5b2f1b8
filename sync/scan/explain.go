package scan

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
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
// relative to the root or an absolute one below it. A secret by name is said to be one
// before anything else that leaves it out. It returns ErrOutside, ErrInGit or ErrMissing,
// wrapped with the path.
func (s *Scanner) Explain(path string) (Explanation, error) {
	clean, err := s.relative(path)
	if err != nil {
		return Explanation{}, err
	}
	out, err := s.explain(clean)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", merkle.QuotePath(clean), err)
	}
	return out, nil
}

func (s *Scanner) explain(clean string) (Explanation, error) {
	x, err := s.enterExplained(clean)
	if err != nil {
		return Explanation{}, err
	}
	defer x.close()
	if secret.Named(clean) {
		if stat, err := x.lookAhead(clean); err != nil || kind(stat.Mode) != unix.S_IFDIR {
			x.secret()
			return x.out, err
		}
	}
	if err := x.descend(clean); err != nil || x.out.LeftOut != "" {
		return x.out, err
	}
	return x.out, x.entry(clean)
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
		if strings.EqualFold(part, ".git") {
			return "", fmt.Errorf("%w: %s", ErrInGit, merkle.QuotePath(path))
		}
	}
	if clean == "." {
		clean = ""
	}
	return clean, nil
}

// explainer walks from the root to a path. It holds the directory that it stands in open,
// and asks everything of that descriptor: what is judged cannot be exchanged for something
// else before it is read.
type explainer struct {
	scanner *Scanner
	root    int           // descriptor of the root
	dir     int           // descriptor of the directory it stands in, which may be root
	rules   *ignore.Rules // for the entries of that directory
	reading bool          // goes on below what is left out, and keeps the bytes
	data    []byte        // of the file, when reading
	out     Explanation
}

// enterExplained opens the root for a walk to a path.
func (s *Scanner) enterExplained(clean string) (*explainer, error) {
	root, stat, err := s.enterRoot()
	if err != nil {
		return nil, err
	}
	if want := s.opts.Identity; want != (store.RootIdentity{}) && want != (store.RootIdentity{Device: stat.Device, Inode: stat.Inode}) {
		_ = unix.Close(root)
		return nil, fmt.Errorf("%w: %s", ErrRootReplaced, merkle.QuotePath(s.root))
	}
	var exclude Index
	s.readExclude(root, s.clock(), &Index{}, &exclude)
	x := &explainer{scanner: s, root: root, dir: root, out: Explanation{Path: clean}}
	x.rules = x.child(exclude.rules, "")
	return x, nil
}

func (x *explainer) close() {
	if x.dir != x.root {
		_ = unix.Close(x.dir)
	}
	_ = unix.Close(x.root)
}

// child returns the rules for the entries of the directory that the explainer stands in.
func (x *explainer) child(above *ignore.Rules, dir string) *ignore.Rules {
	var files []ignore.File
	for _, name := range ruleFiles {
		if data, err := readBounded(x.dir, name, maxRuleBytes); err == nil {
			files = append(files, ignore.File{Path: join(dir, name), Data: data})
		}
	}
	return above.Child(dir, files...)
}

// lookAhead returns the stat of a path without going there.
func (x *explainer) lookAhead(path string) (store.Stat, error) {
	fd, err := openBeneath(x.root, parentOf(path))
	if err != nil {
		return store.Stat{}, missing(err)
	}
	defer func() { _ = unix.Close(fd) }()
	stat, err := statAt(fd, baseOf(path))
	return stat, missing(err)
}

func missing(err error) error {
	if gone(err) {
		return ErrMissing
	}
	return err
}

// descend goes into the directories on the way to a path, as far as they are entered.
func (x *explainer) descend(path string) error {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		stop, err := x.directory(path[:i])
		if err != nil {
			return err
		}
		if x.out.LeftOut != "" && x.out.Directory == "" {
			x.out.Directory = path[:i]
		}
		if stop {
			return nil
		}
	}
	return nil
}

// directory decides about a directory of the one that the explainer stands in, and goes
// into it. It stops before one that is not entered; when reading, before links only.
func (x *explainer) directory(path string) (stop bool, err error) {
	name := baseOf(path)
	stat, err := statAt(x.dir, name)
	if err != nil {
		return true, missing(err)
	}
	if kind(stat.Mode) == unix.S_IFLNK {
		x.leaveOut(store.LeftOutSymlink, "a symbolic link is not followed")
		return true, nil
	}
	if kind(stat.Mode) != unix.S_IFDIR {
		return true, ErrMissing
	}
	if m := x.rules.Match(path, true); x.out.LeftOut == "" && m.Ignored {
		m.Directory = path
		x.out.LeftOut, x.out.Match = store.LeftOutIgnored, m
		if !x.reading {
			return true, nil
		}
	}
	fd, err := -1, x.scanner.interfere("enter", path)
	if err == nil {
		fd, err = openPiece(x.dir, name)
	}
	if err != nil {
		return true, missing(err)
	}
	if x.dir != x.root {
		_ = unix.Close(x.dir)
	}
	x.dir = fd
	if x.scanner.isData(fd) { // whatever else leaves it out, nothing below is read
		x.out.LeftOut, x.out.Detail, x.out.Match = store.LeftOutData, dataDetail, ignore.Match{}
		return true, nil
	}
	if x.out.LeftOut == "" {
		if _, err := statAt(fd, ".git"); err == nil {
			x.leaveOut(store.LeftOutNested, "the directory is a repository of its own")
		} else {
			x.rules = x.child(x.rules, path)
		}
	}
	return x.out.LeftOut != "" && !x.reading, nil
}

// leaveOut takes note of a reason, unless a directory above gave one.
func (x *explainer) leaveOut(reason store.LeftOut, detail string) {
	if x.out.LeftOut == "" {
		x.out.LeftOut, x.out.Detail = reason, detail
	}
}

func (x *explainer) secret() {
	x.out.LeftOut, x.out.Detail = store.LeftOutSecret, "the name is that of a secret; the file is never opened"
}

// entry decides about the path itself.
func (x *explainer) entry(path string) error {
	if path == "" {
		x.out.Dir = true
		return nil
	}
	stat, err := statAt(x.dir, baseOf(path))
	if err != nil {
		return missing(err)
	}
	if kind(stat.Mode) == unix.S_IFDIR {
		x.out.Dir = true
		if _, err = x.directory(path); err != nil && !errors.Is(err, ErrMissing) {
			x.leaveOut(store.LeftOutUnreadable, err.Error())
			return nil
		}
		return err
	}
	x.out.Size = stat.Size
	if x.out.LeftOut == "" {
		if x.out.Match = x.rules.Match(path, false); x.out.Match.Ignored {
			x.out.LeftOut = store.LeftOutIgnored
		}
	}
	switch {
	case x.out.LeftOut != "" && !x.reading:
	case kind(stat.Mode) == unix.S_IFLNK:
		x.leaveOut(store.LeftOutSymlink, "a symbolic link is not followed")
	case kind(stat.Mode) != unix.S_IFREG:
		x.leaveOut(store.LeftOutSpecial, "not a regular file; it is never opened")
	case stat.Size > x.scanner.opts.MaxFileBytes:
		x.leaveOut(store.LeftOutTooLarge, fmt.Sprintf("%d bytes, over the limit of %d", stat.Size, x.scanner.opts.MaxFileBytes))
	default:
		x.content(path)
	}
	return nil
}

// content decides about the bytes of a regular file.
func (x *explainer) content(path string) {
	data, err := x.read(path)
	switch {
	case errors.Is(err, errTooLarge):
		x.leaveOut(store.LeftOutTooLarge, fmt.Sprintf("over the limit of %d bytes", x.scanner.opts.MaxFileBytes))
		return
	case err != nil:
		x.leaveOut(store.LeftOutUnreadable, err.Error())
		return
	case isBinary(data):
		x.leaveOut(store.LeftOutBinary, "a NUL in the first 8000 bytes, or UTF-16")
	case isMinified(path, data):
		x.leaveOut(store.LeftOutMinified, "lines longer than a person writes")
	}
	x.out.Language, x.out.Flags = Classify(path, data)
	x.out.Size = int64(len(data))
	if x.reading {
		x.data = data
	}
}

// read returns the bytes of a regular file in the directory that the explainer stands in.
func (x *explainer) read(path string) ([]byte, error) {
	if err := x.scanner.interfere("open", path); err != nil {
		return nil, err
	}
	limit := x.scanner.opts.MaxFileBytes
	data, err := readBounded(x.dir, baseOf(path), limit+1)
	if err == nil && int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return data, err
}

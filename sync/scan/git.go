package scan

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/ignore"
)

// maxGitFile bounds what is read of the small files that git keeps names in.
const maxGitFile = 4 << 10

// Ref returns what git calls the tree at root: the branch, a commit's first twelve digits
// when none is checked out, or "" outside git. It runs no git and reads three small files
// at most. The .git of a worktree is a file that names the directory to look in.
func Ref(root string) string {
	head, err := readSmall(filepath.Join(gitDir(root), "HEAD"))
	if err != nil {
		return ""
	}
	line := strings.TrimSpace(string(head))
	if ref, ok := strings.CutPrefix(line, "ref: refs/heads/"); ok {
		return ref
	}
	if ref, ok := strings.CutPrefix(line, "ref: "); ok {
		return ref
	}
	if _, err := hex.DecodeString(line); err == nil && len(line) >= 40 {
		return line[:12]
	}
	return ""
}

// Busy reports whether git is rewriting the tree at root, or its index, right now: it holds
// one of its locks. One that was left behind looks the same.
func Busy(root string) bool {
	dir := gitDir(root)
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		if _, err := statAt(unix.AT_FDCWD, filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Ref is the package's Ref of the scanner's root.
func (s *Scanner) Ref() string { return Ref(s.root) }

// gitDir returns the directory that holds HEAD.
func gitDir(root string) string {
	git := filepath.Join(root, ".git")
	text, err := readSmall(git)
	if err != nil {
		return git
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return git
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	return dir
}

// commonDir returns the directory that holds info/exclude. That of a worktree lies outside
// the root, and is believed only when the worktree's own directory points back here.
func commonDir(root string) string {
	dir := gitDir(root)
	if dir == filepath.Join(root, ".git") {
		return dir
	}
	back, err := readSmall(filepath.Join(dir, "gitdir"))
	if err != nil || strings.TrimSpace(string(back)) != filepath.Join(root, ".git") {
		return ""
	}
	common, err := readSmall(filepath.Join(dir, "commondir"))
	if err != nil {
		return ""
	}
	path := strings.TrimSpace(string(common))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

// readSmall reads a regular file of at most maxGitFile bytes.
func readSmall(path string) ([]byte, error) {
	data, err := readBounded(unix.AT_FDCWD, path, maxGitFile+1)
	if err == nil && len(data) > maxGitFile {
		return nil, os.ErrInvalid
	}
	return data, err
}

// readExclude puts .git/info/exclude and its rules into next, and reports whether they may
// differ from those by which prior was decided. A file that cannot be read counts as none,
// as in git.
func (s *Scanner) readExclude(root int, now clock, prior, next *Index) bool {
	var path string
	if stat, err := statAt(root, ".git"); err == nil && kind(stat.Mode) != unix.S_IFLNK {
		if common := commonDir(s.root); common != "" {
			path = filepath.Join(common, "info", "exclude")
		}
	}
	var stat store.Stat
	var err error = unix.ENOENT
	if path != "" {
		stat, err = statAt(unix.AT_FDCWD, path)
	}
	if err == nil && kind(stat.Mode) == unix.S_IFREG {
		stat = now.see(stat)
		if prior.known && prior.exclude.Stat == stat && !prior.exclude.Racy {
			next.exclude, next.rules = prior.exclude, prior.rules
			return false
		}
		if data, err := readBounded(unix.AT_FDCWD, path, maxRuleBytes); err == nil {
			next.exclude = store.StatEntry{
				Path: ignore.GitExclude, Stat: stat, Racy: now.racy(stat), XX: xxhash.Sum64(data), LeftOut: store.LeftOutIgnored,
			}
			next.rules = next.rules.Child("", ignore.File{Path: ignore.GitExclude, Data: bytes.Clone(data)})
		}
	}
	changed := prior.exclude.XX != next.exclude.XX
	if !changed && prior.known {
		next.rules = prior.rules
	}
	return changed
}

// recordExclude takes note of the difference between two exclude files.
func recordExclude(r *Result, before, now store.StatEntry) {
	switch {
	case before == now:
	case now.Path == "":
		r.StatRemoves = append(r.StatRemoves, before.Path)
	default:
		r.Stats = append(r.Stats, now)
	}
}

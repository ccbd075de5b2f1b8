package tool

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// within turns what a caller wrote into paths relative to the root, in the order in which
// they are to be tried: as a path from the root, then as one from the working directory.
func within(b store.Codebase, written, cwd string) ([]string, error) {
	unquoted, err := merkle.UnquotePath(written)
	if err != nil {
		return nil, Invalid("path", "bad quotes in "+written)
	}
	outside := Errorf(CodePathOutsideRoot, "%s lies outside of %s", merkle.QuotePath(unquoted), merkle.QuotePath(b.Root)).
		Next(listStep("shows the roots that are registered"))
	if strings.IndexByte(unquoted, 0) >= 0 {
		return nil, Invalid("path", "holds a NUL byte")
	}
	if filepath.IsAbs(unquoted) {
		if !inside(b.Root, unquoted) {
			return nil, outside
		}
		return []string{relative(b.Root, unquoted)}, nil
	}
	var paths []string
	if cleaned := path.Clean(unquoted); cleaned != ".." && !strings.HasPrefix(cleaned, "../") {
		paths = append(paths, cleaned)
	}
	if cwd != "" && inside(b.Root, cwd) && filepath.Clean(cwd) != b.Root {
		if absolute := filepath.Join(cwd, unquoted); inside(b.Root, absolute) {
			paths = append(paths, relative(b.Root, absolute))
		}
	}
	if len(paths) == 0 {
		return nil, outside
	}
	return paths, nil
}

func relative(root, absolute string) string {
	cleaned := filepath.Clean(absolute)
	if cleaned == root {
		return "."
	}
	return strings.TrimPrefix(cleaned, strings.TrimSuffix(root, "/")+"/")
}

// splitRange takes ":START", ":START-" or ":START-END" off a target. ok is false when it
// has none; end is 0 when it is open.
func splitRange(target string) (name string, start, end int, ok bool) {
	at := strings.LastIndexByte(target, ':')
	if at <= 0 {
		return target, 0, 0, false
	}
	first, last, ranged := strings.Cut(target[at+1:], "-")
	start, err := strconv.Atoi(first)
	if err != nil || start < 0 {
		return target, 0, 0, false
	}
	switch {
	case !ranged:
		return target[:at], start, start, true
	case last == "":
		return target[:at], start, 0, true
	}
	end, err = strconv.Atoi(last)
	if err != nil || end < 0 {
		return target, 0, 0, false
	}
	return target[:at], start, end, true
}

// insideGit reports whether a path has a component that git keeps its own data in.
func insideGit(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

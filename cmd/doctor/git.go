package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
)

// diagnoseGit looks at the repository that a directory lies in. It runs no git command: the
// configuration of a repository can execute programs.
func diagnoseGit(dir string) tool.Finding {
	const check = "git"
	top, gitDir := findGit(dir)
	if gitDir == "" {
		return good(check, dir+" is in no repository; .freshetignore says what to leave out")
	}
	head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return poor(check, fmt.Sprintf("%s cannot be read: %v", gitDir, err), "answers do not name the branch")
	}
	for _, doing := range []struct{ file, name string }{
		{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, doing.file)); err == nil {
			return poor(check, top+" is in the middle of "+doing.name, "what is searched is the tree as it is now")
		}
	}
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
		return good(check, top+" is at "+strings.TrimPrefix(ref, "refs/heads/"))
	}
	return good(check, fmt.Sprintf("%s is at no branch, at %.12s", top, strings.TrimSpace(string(head))))
}

// findGit finds the top of the working tree that a directory lies in, and its git
// directory; a linked worktree and a submodule name theirs in a file.
func findGit(dir string) (top, gitDir string) {
	for {
		candidate := filepath.Join(dir, ".git")
		info, err := os.Lstat(candidate)
		if err == nil && info.IsDir() {
			return dir, candidate
		}
		if err == nil && info.Mode().IsRegular() {
			data, err := os.ReadFile(candidate)
			named, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
			if err == nil && ok && !filepath.IsAbs(named) {
				named = filepath.Join(dir, named)
			}
			if err == nil && ok {
				return dir, named
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", ""
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", ""
		}
		dir = above
	}
}

package registry

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Admit resolves the directory at an absolute path for a caller who wants it registered or
// looked at, and refuses what no codebase may be: the root of the file system, a home
// itself, the data directory and what lies in it, and directories of secrets. An agent is
// told the same of what is missing and of what it may not name, so that it cannot look
// around with it.
func (r *Registry) Admit(ctx context.Context, root string, p tool.Permit) (string, error) {
	resolved, err := filepath.EvalSymlinks(root)
	if err == nil {
		_, err = scan.Identity(resolved)
	}
	if !p.Person {
		registered, lookup := r.isRegistered(ctx, resolved)
		if lookup != nil {
			return "", lookup
		}
		if err != nil || (!registered && !permits(p, resolved)) {
			return "", notPermitted(root, p)
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", tool.Errorf(tool.CodePathNotFound, "%s does not exist", merkle.QuotePath(root)).
			Next(tool.NextStep{Tool: tool.ToolList, Arguments: map[string]any{"view": tool.ListAll}, Why: "shows the roots that are registered"})
	case errors.Is(err, scan.ErrRootIsData):
		return "", tool.Invalid("path", "the directory is a data directory of freshet; name a project directory")
	case err != nil:
		return "", tool.Errorf(tool.CodePathNotFound, "%s cannot be indexed: %w; name a directory that may be read", merkle.QuotePath(root), err)
	case resolved == string(filepath.Separator):
		return "", tool.Invalid("path", "the root of the file system is not a codebase; name a project directory")
	case isHome(resolved):
		return "", tool.Invalid("path", "a home directory itself is not a codebase; name a project directory below it")
	case within(resolved, r.Home) || within(resolved, resolvedOr(r.Home)):
		return "", tool.Invalid("path", "the directory is inside the data directory of freshet")
	case secret.NamedDirectory(resolved):
		return "", tool.Invalid("path", "the directory holds secrets, which are never indexed; name a project directory")
	}
	return resolved, nil
}

// isRegistered reports whether a codebase of this place has the root.
func (r *Registry) isRegistered(ctx context.Context, root string) (bool, error) {
	all, err := r.Store.Codebases(ctx)
	if err != nil {
		return false, err
	}
	for _, c := range all {
		if c.Root == root && r.Here(c) {
			return true, nil
		}
	}
	return false, nil
}

// permits reports whether a directory lies below one that the operator or the client gave.
// A client that was started in / or in a home gave nothing by that.
func permits(p tool.Permit, resolved string) bool {
	below := func(root string) bool {
		return filepath.IsAbs(root) && within(resolved, resolvedOr(root))
	}
	return slices.ContainsFunc(p.Operator, below) || slices.ContainsFunc(p.Client, func(root string) bool {
		given := resolvedOr(root)
		return given != string(filepath.Separator) && !isHome(given) && below(root)
	})
}

// notPermitted is the one answer about what an agent may not register.
func notPermitted(root string, p tool.Permit) *tool.Error {
	given := []string{}
	for _, dir := range slices.Concat(p.Operator, p.Client) {
		given = append(given, merkle.QuotePath(dir))
	}
	return tool.Errorf(tool.CodePermissionDenied,
		"%s is no directory that an agent may name: it must exist below a directory that the client or the operator gave; a person may register it on the command line, or give its parent with --allow-root", merkle.QuotePath(root)).
		Detail("given", given).
		Next(advice.Command("freshet index "+tool.ShellWord(root), "registers and indexes the directory, for a person to run"))
}

// isHome reports whether a directory is somebody's home, or holds homes.
func isHome(dir string) bool {
	if dir == "/root" || dir == "/home" || dir == "/Users" {
		return true
	}
	if parent := filepath.Dir(dir); parent == "/home" || parent == "/Users" {
		return true
	}
	if home, err := os.UserHomeDir(); err == nil && dir == resolvedOr(home) {
		return true
	}
	self, err := user.Current()
	return err == nil && self.HomeDir != "" && dir == resolvedOr(self.HomeDir)
}

// resolvedOr returns a path without links, or cleaned when it cannot be resolved.
func resolvedOr(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

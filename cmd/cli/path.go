package cli

import (
	"path/filepath"
	"unicode/utf8"

	"github.com/freshet/freshet/mcp/tool"
)

// scope is the codebase that an argument names, or the one of the working directory. Its
// paths are quoted, since names are bytes and parameters travel as JSON.
func (r *run) scope(args []string) tool.Scope {
	s := tool.Scope{CWD: tool.QuotePath(r.Dir)}
	if len(args) > 0 {
		s.Codebase = r.codebase(args[0])
	}
	return s
}

// codebase resolves a reference that is written as a path; names and ids stay.
func (r *run) codebase(ref string) string {
	named := filepath.Base(ref) == ref && utf8.ValidString(ref)
	if ref == "." || ref == ".." || !named {
		return r.path(ref)
	}
	return ref
}

// path makes a path absolute, resolves its symlinks as far as it exists, and quotes it. A
// path may be given quoted, as answers show it.
func (r *run) path(path string) string {
	candidates := []string{path}
	if raw, err := tool.UnquotePath(path); err == nil && raw != path {
		candidates = append(candidates, raw)
	}
	for _, candidate := range candidates {
		if resolved, err := filepath.EvalSymlinks(r.absolute(candidate)); err == nil {
			return tool.QuotePath(resolved)
		}
	}
	return tool.QuotePath(filepath.Clean(r.absolute(path)))
}

func (r *run) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.Dir, path)
}

// typed quotes a path that JSON would change. Another stays as it was typed, which may be
// quoted, as answers show paths.
func typed(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	return tool.QuotePath(path)
}

// checkText refuses words of a query that no text can hold.
func checkText(what string, values ...string) error {
	for _, value := range values {
		if !utf8.ValidString(value) {
			return usagef("%s %s is not UTF-8; a path of other bytes is found by a part of it that is, or by a glob with ?",
				what, tool.QuotePath(value))
		}
	}
	return nil
}

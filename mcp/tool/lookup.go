package tool

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// containing returns the innermost codebase whose root holds the path.
func containing(all []store.Codebase, path string) (store.Codebase, error) {
	var best store.Codebase
	for _, b := range all {
		if inside(b.Root, path) && len(b.Root) > len(best.Root) {
			best = b
		}
	}
	if best.ID == "" {
		return best, notFound(merkle.QuotePath(path)+" lies in no registered codebase", path)
	}
	return best, nil
}

func refOf(b store.Codebase, ref string) CodebaseRef {
	return CodebaseRef{ID: b.ID, Name: b.Name, Root: merkle.QuotePath(b.Root), Ref: ref}
}

// stateOf tells what has become of a codebase.
func stateOf(b store.Codebase, running *Operation, requires bool) State {
	switch {
	case b.Current == 0 && running != nil:
		return StateIndexing
	case b.Failure != "":
		return StateIndexFailed
	case b.Current == 0:
		return StateNotFound
	case requires:
		return StateRequiresReindex
	case b.Current == 1:
		return StateIndexed
	}
	return StateSyncCompleted
}

func inside(root, path string) bool {
	path = filepath.Clean(path)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// maxElsewhere is how many codebases an error offers the same call on, and how many
// directories to register.
const maxElsewhere = 3

// registrable are those of some directories that the caller may register, and that no
// codebase holds.
func (c *call) registrable(ctx context.Context, all []store.Codebase, s Scope, dirs []string) []string {
	var found []string
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) || len(found) == maxElsewhere {
			continue
		}
		dir = filepath.Clean(dir)
		if _, err := containing(all, dir); err == nil || slices.Contains(found, dir) {
			continue
		}
		if c.Registry.Admits(ctx, dir, c.permit(s)) == nil {
			found = append(found, dir)
		}
	}
	return found
}

// permit is what the caller may name: a verb is called by a person, a tool by an agent.
func (c *call) permit(s Scope) Permit {
	client := s.ClientRoots
	if s.CWD != "" {
		client = append(slices.Clip(client), s.CWD)
	}
	return Permit{Person: c.tool == "", Operator: s.AllowRoots, Client: client}
}

func notFound(message, path string) *Error {
	e := Errorf(CodeCodebaseNotFound, "%s", message)
	if path == "" {
		return e
	}
	return e.Detail("path", merkle.QuotePath(path))
}

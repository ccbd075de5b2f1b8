package tool

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/freshet/freshet/store"
)

// resolve finds the codebase that a scope names and enters it in the envelope.
func (c *call) resolve(ctx context.Context, s Scope) (store.Codebase, error) {
	all, err := c.Catalog.Codebases(ctx)
	if err != nil {
		return store.Codebase{}, err
	}
	found, err := pick(all, s)
	if err != nil {
		if list, ok := c.Catalog.(rememberer); ok && list.Remembered() {
			return store.Codebase{}, fmt.Errorf("%w: %s, as far as was read before", store.ErrUnavailable, err.Error())
		}
		c.env.State = StateNotFound
		return store.Codebase{}, c.unresolved(ctx, all, s, AsError(err))
	}
	c.about(found)
	return found, nil
}

// rememberer is a Catalog that may list what it read before: what it does not list may be
// registered all the same.
type rememberer interface{ Remembered() bool }

// about enters the codebase in the envelope.
func (c *call) about(b store.Codebase) {
	c.env.Codebase = refOf(b, "")
	c.env.State = stateOf(b, nil, false)
}

// pick chooses one of the codebases. A reference is an absolute path inside one, an id, a
// name, or a root relative to the working directory, tried in that order.
func pick(all []store.Codebase, s Scope) (store.Codebase, error) {
	switch {
	case s.Codebase == "" && s.CWD != "":
		return containing(all, s.CWD)
	case s.Codebase == "":
		return only(all)
	case filepath.IsAbs(s.Codebase):
		return containing(all, s.Codebase)
	}
	var named, at []store.Codebase
	for _, b := range all {
		if string(b.ID) == s.Codebase {
			return b, nil
		}
		if s.CWD != "" && b.Root == filepath.Join(s.CWD, s.Codebase) {
			at = append(at, b)
		}
		if b.Name == s.Codebase {
			named = append(named, b)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], nil
	case len(named) > 1:
		return store.Codebase{}, ambiguous(named, "several codebases are named "+s.Codebase)
	case len(at) > 0:
		return at[0], nil
	}
	return store.Codebase{}, notFound("no codebase has the id, name or path "+s.Codebase, "")
}

func only(all []store.Codebase) (store.Codebase, error) {
	switch len(all) {
	case 0:
		return store.Codebase{}, notFound("no codebase is registered; a person registers a directory with `freshet index` in it", "")
	case 1:
		return all[0], nil
	}
	return store.Codebase{}, ambiguous(all, "several codebases are registered: name one")
}

func ambiguous(candidates []store.Codebase, message string) *Error {
	refs := make([]CodebaseRef, 0, len(candidates))
	for _, b := range candidates {
		refs = append(refs, refOf(b, ""))
	}
	return Errorf(CodeAmbiguousCodebase, "%s", message).Detail("candidates", refs)
}

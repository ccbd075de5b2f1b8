package tool

import (
	"context"
	"errors"
	"strings"

	"github.com/freshet/freshet/sync/merkle"
)

// target reads a path, a path with a range, a hit, or a symbol, in that order.
func (r *reader) target(ctx context.Context, target string) (readItem, error) {
	name, start, end, ranged := splitRange(target)
	if !ranged || !strings.HasPrefix(target, `"`) { // a range stands after the quotes
		item, err := r.path(ctx, target, 0, 0)
		if err == nil || !missing(err) {
			return item, err
		}
	}
	if ranged {
		if start == 0 {
			r.warn("range_clamped", "lines count from 1")
		}
		return r.path(ctx, name, max(1, start), end)
	}
	if strings.ContainsAny(target, "/ ") || r.view == nil {
		return readItem{}, r.noFile(ctx, target)
	}
	if place, ok := parseID(target); ok {
		if item, err := r.hit(ctx, target, place); err != nil || item.target != "" {
			return item, err
		}
	}
	return r.symbol(ctx, target)
}

// path reads lines of a file; start 0 means from the beginning without a range.
func (r *reader) path(ctx context.Context, written string, start, end int) (readItem, error) {
	paths, err := within(r.codebase, written, r.cwd)
	if err != nil {
		return readItem{}, err
	}
	for _, path := range paths {
		if insideGit(path) {
			return readItem{}, Errorf(CodePermissionDenied, "%s belongs to git itself and is never shown", merkle.QuotePath(path)).
				Next(whyStep(r.codebase, path))
		}
		file, err := r.Disk.Live(ctx, r.codebase, path)
		if err == nil {
			return r.file(ctx, path, file, start, end)
		}
		if !missing(err) {
			return readItem{}, err
		}
	}
	return readItem{}, r.noFile(ctx, paths[0])
}

func missing(err error) bool {
	var known *Error
	return errors.As(err, &known) && known.Code == CodePathNotFound
}

// noFile says that a path does not exist, with the paths that are most like it, of which the
// first is offered.
func (r *reader) noFile(ctx context.Context, path string) *Error {
	e := Errorf(CodePathNotFound, "there is no file %s in %s", merkle.QuotePath(path), r.codebase.Name)
	if r.view == nil {
		return e
	}
	near := r.nearFiles(ctx, path)
	if len(near) == 0 {
		return e.Detail("near", near).Next(NextStep{ToolList, map[string]any{"codebase": string(r.codebase.ID), "view": ListOverview}, "shows what there is"})
	}
	return e.Detail("near", near).Next(r.nearStep(near))
}

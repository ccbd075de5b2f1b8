package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// file shows lines of a file that was read.
func (r *reader) file(ctx context.Context, path string, file LiveFile, start, end int) (readItem, error) {
	refused := func(reason store.LeftOut) error {
		return Errorf(CodePermissionDenied, "%s is not shown: %s", merkle.QuotePath(path), reason).
			Detail("reason", reason).Next(whyStep(r.codebase, path))
	}
	switch {
	case file.LeftOut == store.LeftOutSecret || (file.LeftOut != "" && file.Data == nil):
		return readItem{}, refused(file.LeftOut)
	case bytes.IndexByte(file.Data, 0) >= 0:
		return readItem{}, refused(store.LeftOutBinary)
	}
	state, err := r.indexState(ctx, path, file.Hash)
	if err != nil {
		return readItem{}, err
	}
	lines := countLines(file.Data)
	from, to, next := r.clamp(path, lines, start, end)
	quoted := merkle.QuotePath(path)
	item := readItem{data: file.Data, next: next, last: end, hit: Hit{
		Kind: search.HitFile, FilePath: quoted, StartLine: from, EndLine: to, Language: file.Language,
		ContentHash: file.Hash, Verified: true, Index: state, Lines: lines, Content: excerpt(file.Data, from, to),
	}}
	if r.show == ViewFragment && start > 0 {
		if err := r.widen(ctx, &item); err != nil {
			return item, err
		}
	}
	item.target = fmt.Sprintf("%s:%d-%d", quoted, item.hit.StartLine, item.hit.EndLine)
	item.hit.ID = item.target
	if r.show == ViewSkeleton {
		return item, r.skeleton(ctx, &item)
	}
	return item, nil
}

// nearFiles are the files whose paths are most like one, and that can be read.
func (r *reader) nearFiles(ctx context.Context, path string) []string {
	near := []string{}
	found, err := r.Search.Search(ctx, *r.view, search.Query{Text: path, Mode: search.ModePath, Limit: maxNear})
	if err != nil {
		return near // what the path search has to say is of no use here
	}
	for _, hit := range found.Hits {
		state, err := r.Disk.Compare(ctx, r.codebase, hit.Path, hit.Content)
		if err == nil && state != DiskGone && !secret.Named(hit.Path) {
			near = append(near, merkle.QuotePath(hit.Path))
		}
	}
	return near
}

// nearStep reads the first of the files of nearFiles.
func (r *reader) nearStep(near []string) NextStep {
	return NextStep{ToolRead, map[string]any{"targets": near[:1], "codebase": string(r.codebase.ID), "view": string(ViewSkeleton)},
		"reads the file that is named most like it"}
}

// indexState says how the served snapshot has a file that was read.
func (r *reader) indexState(ctx context.Context, path string, live merkle.Hash) (string, error) {
	if r.view == nil {
		return "unindexed", nil
	}
	entry, err := r.Contents.File(ctx, r.codebase.ID, r.view.Snapshot.Number, path)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "unindexed", nil
	case err != nil:
		return "", err
	case entry.Content != live:
		return "changed", nil
	}
	return "indexed", nil
}

// clamp fits a range into the lines there are and the most that are shown, with a warning
// for what it took away. next is the line to read on from, 0 when nothing is left.
func (r *reader) clamp(path string, lines, start, end int) (from, to, next int) {
	from, to = max(1, start), end
	if start == 0 || to == 0 {
		to = lines
	}
	if from > to && to < lines {
		from, to = to, from
		r.warn("range_clamped", "the range was given backwards")
	}
	if max(start, to) > lines {
		r.warn("range_clamped", fmt.Sprintf("%s has %s", merkle.QuotePath(path), plural(lines, "line")))
		to = min(to, lines)
		from = max(1, min(from, lines))
	}
	if to-from+1 > MaxReadLines && r.show != ViewSkeleton {
		to = from + MaxReadLines - 1
		next = to + 1
		r.warn("more_lines", fmt.Sprintf("%s has %s; the next are at line %d", merkle.QuotePath(path), plural(lines, "line"), next))
	}
	return from, to, next
}

package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// Bounds of a read.
const (
	MaxTargets   = 20
	MaxReadLines = 1000
)

// read shows files as they are on disk now. A bad target among several costs only itself.
func (c *call) read(ctx context.Context, p ReadParams) error {
	if len(p.Targets) == 0 || len(p.Targets) > MaxTargets {
		return Invalid("targets", fmt.Sprintf("give between 1 and %d", MaxTargets))
	}
	options, err := p.options()
	if err != nil {
		return err
	}
	scope := p.Scope
	if scope.Codebase == "" {
		scope.Codebase = absoluteTarget(p.Targets[0])
	}
	b, err := c.resolve(ctx, scope)
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, options)
	if err != nil {
		return err
	}
	r := reader{call: c, codebase: b, view: reading.View, cwd: p.CWD}
	var first error
	for _, target := range p.Targets {
		hit, err := r.target(ctx, target)
		if err == nil {
			c.env.Results = append(c.env.Results, hit)
			continue
		}
		if first == nil {
			first = err
		}
		known := AsError(err)
		c.warn(string(known.Code), known.Message)
		c.partial()
	}
	if len(c.env.Results) == 0 {
		return first
	}
	c.fit(p.MaxTokens)
	return nil
}

// fit keeps as many whole results as the budget allows, at least one.
func (c *call) fit(budget int) {
	if budget == 0 {
		budget = DefaultMaxTokens
	}
	e := c.env
	all, spent, kept := e.Results, 0, 0
	for _, hit := range all {
		size := approxTokens(hit)
		e.OriginalSizeChars += 4 * size
		if budget > 0 && kept > 0 && spent+size > budget || e.Truncated {
			e.Truncated = true
			continue
		}
		spent += size
		kept++
	}
	e.Results = all[:kept]
	e.TotalCount, e.ReturnedCount, e.ApproxTokens = len(all), kept, spent
	e.RemainingCount = len(all) - kept
	e.HasMore = e.RemainingCount > 0
}

// reader reads the targets of one call.
type reader struct {
	*call
	codebase store.Codebase
	view     *store.View // nil while nothing is sealed
	cwd      string
}

// target reads a path, a path with a range, or a symbol, in that order.
func (r *reader) target(ctx context.Context, target string) (Hit, error) {
	name, start, end, ranged := splitRange(target)
	if !ranged || !strings.HasPrefix(target, `"`) { // a range stands after the quotes
		hit, err := r.path(ctx, target, 0, 0)
		if err == nil || !missing(err) {
			return hit, err
		}
	}
	if ranged {
		if start == 0 {
			r.warn("range_clamped", "lines count from 1")
		}
		return r.path(ctx, name, max(1, start), end)
	}
	if strings.ContainsAny(target, "/ ") || r.view == nil {
		return Hit{}, r.noFile(target)
	}
	return r.symbol(ctx, target)
}

func (r *reader) noFile(path string) *Error {
	return Errorf(CodePathNotFound, "there is no file %s in %s", merkle.QuotePath(path), r.codebase.Name).
		Next(NextStep{ToolSearch, map[string]any{"query": merkle.QuotePath(path), "mode": "path"}, "finds files by their path"})
}

func missing(err error) bool {
	var known *Error
	return errors.As(err, &known) && known.Code == CodePathNotFound
}

// path reads lines of a file; start 0 means from the beginning without a range.
func (r *reader) path(ctx context.Context, written string, start, end int) (Hit, error) {
	paths, err := within(r.codebase, written, r.cwd)
	if err != nil {
		return Hit{}, err
	}
	for _, path := range paths {
		if insideGit(path) {
			return Hit{}, Errorf(CodePermissionDenied, "%s belongs to git itself and is never shown", merkle.QuotePath(path))
		}
		file, err := r.Disk.Live(ctx, r.codebase, path)
		if err == nil {
			return r.show(ctx, path, file, start, end)
		}
		if !missing(err) {
			return Hit{}, err
		}
	}
	return Hit{}, r.noFile(paths[0])
}

func (r *reader) show(ctx context.Context, path string, file LiveFile, start, end int) (Hit, error) {
	if file.LeftOut == store.LeftOutSecret || (file.LeftOut != "" && file.Data == nil) {
		return Hit{}, Errorf(CodePermissionDenied, "%s is not shown: %s", merkle.QuotePath(path), file.LeftOut).
			Detail("reason", file.LeftOut).Next(whyStep(path))
	}
	if bytes.IndexByte(file.Data, 0) >= 0 {
		return Hit{}, Errorf(CodePermissionDenied, "%s is not shown: binary", merkle.QuotePath(path)).
			Detail("reason", store.LeftOutBinary).Next(whyStep(path))
	}
	state, err := r.indexState(ctx, path, file.Hash)
	if err != nil {
		return Hit{}, err
	}
	lines := countLines(file.Data)
	from, to := r.clamp(path, lines, start, end)
	return Hit{
		ID: merkle.QuotePath(path) + ":" + strconv.Itoa(from), Kind: search.HitFile, FilePath: merkle.QuotePath(path),
		StartLine: from, EndLine: to, Language: file.Language, ContentHash: file.Hash,
		Verified: true, Index: state, Lines: lines, Content: excerpt(file.Data, from, to),
	}, nil
}

// clamp fits a range into the lines there are and the most that are shown, with a warning
// for what it took away.
func (r *reader) clamp(path string, lines, start, end int) (int, int) {
	from, to := max(1, start), end
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
	if to-from+1 > MaxReadLines {
		to = from + MaxReadLines - 1
		next := fmt.Sprintf("%s:%d-%d", merkle.QuotePath(path), to+1, min(lines, to+MaxReadLines))
		r.warn("more_lines", fmt.Sprintf("%s has %s; the next are at %s", merkle.QuotePath(path), plural(lines, "line"), next))
		r.env.NextSteps = append(r.env.NextSteps,
			NextStep{ToolRead, map[string]any{"targets": []string{next}}, "reads on"})
	}
	return from, to
}

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

// symbol reads the one definition of a name, "Close" or "Server.Close".
func (r *reader) symbol(ctx context.Context, name string) (Hit, error) {
	result, err := r.Search.Search(ctx, *r.view, search.Query{Text: name, Mode: search.ModeSymbol, Limit: 50})
	if err != nil {
		return Hit{}, err
	}
	var exact []search.Hit
	var near []string
	for _, hit := range result.Hits {
		if hit.Definition == nil {
			continue
		}
		if hit.Definition.Name == name || strings.HasSuffix(name, "."+hit.Definition.Name) {
			exact = append(exact, hit)
		}
		if len(near) < 5 {
			near = append(near, hit.Definition.Name)
		}
	}
	switch len(exact) {
	case 0:
		return Hit{}, Errorf(CodeTargetNotFound, "there is neither a file nor a symbol %s", name).
			Detail("near", append([]string{}, near...)).
			Next(NextStep{ToolSearch, map[string]any{"query": name, "mode": "symbol"}, "finds symbols by similar names"})
	case 1:
		return r.definition(ctx, exact[0])
	}
	places := make([]string, 0, len(exact))
	for _, hit := range exact {
		places = append(places, fmt.Sprintf("%s:%d-%d", merkle.QuotePath(hit.Path), hit.StartLine, hit.EndLine))
	}
	return Hit{}, Errorf(CodeTargetAmbiguous, "%s is defined in %s", name, plural(len(exact), "place")).
		Detail("candidates", places).
		Next(NextStep{ToolRead, map[string]any{"targets": places[:1]}, "reads the first of them"})
}

func (r *reader) definition(ctx context.Context, found search.Hit) (Hit, error) {
	file, err := r.Disk.Live(ctx, r.codebase, found.Path)
	if err != nil {
		return Hit{}, err
	}
	hit, err := r.show(ctx, found.Path, file, int(found.StartLine), int(found.EndLine))
	if err != nil {
		return Hit{}, err
	}
	hit.Kind, hit.FQN = search.HitSymbol, nameOf(found)
	hit.SymbolKind, hit.Signature = found.Definition.Kind, found.Definition.Signature
	if file.Hash != found.Content {
		hit.Verified = false
		r.warn("source_changed", merkle.QuotePath(found.Path)+" changed since it was indexed: the lines may have moved")
		r.partial()
	}
	return hit, nil
}

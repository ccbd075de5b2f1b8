package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// maxNear is how many near names an error tells, maxCandidates how many places.
const (
	maxNear       = 5
	maxCandidates = 10
)

// symbol reads the one definition of a name, "Close" or "Server.Close".
func (r *reader) symbol(ctx context.Context, name string) (readItem, error) {
	result, err := r.Search.Search(ctx, *r.view, search.Query{Text: name, Mode: search.ModeSymbol, Limit: 50})
	if err != nil {
		return readItem{}, err
	}
	var exact []search.Hit
	near := []string{}
	for _, hit := range result.Hits {
		if hit.Definition == nil {
			continue
		}
		if hit.Definition.Name == name || strings.HasSuffix(name, "."+hit.Definition.Name) {
			exact = append(exact, hit)
		}
		if len(near) < maxNear && !slices.Contains(near, hit.Definition.Name) {
			near = append(near, hit.Definition.Name)
		}
	}
	exact = qualified(exact, name)
	switch len(exact) {
	case 0:
		step := NextStep{ToolSearch, map[string]any{"query": name, "codebase": string(r.codebase.ID)}, "searches by words and meaning"}
		if len(near) > 0 {
			step.Arguments["mode"], step.Why = string(search.ModeSymbol), "finds symbols by similar names"
		} else if near = r.nearFiles(ctx, name); len(near) > 0 {
			step = r.nearStep(near)
		}
		return readItem{}, Errorf(CodeTargetNotFound, "there is neither a file nor a symbol %s", name).
			Detail("near", near).Next(step)
	case 1:
		return r.definition(ctx, exact[0])
	}
	places := []string{}
	for _, hit := range exact[:min(len(exact), maxCandidates)] {
		places = append(places, fmt.Sprintf("%s:%d-%d", merkle.QuotePath(hit.Path), hit.StartLine, hit.EndLine))
	}
	return readItem{}, Errorf(CodeTargetAmbiguous, "%s is defined in %s", name, plural(len(exact), "place")).
		Detail("candidates", places).
		Next(NextStep{ToolRead, map[string]any{"targets": places[:1], "codebase": string(r.codebase.ID)}, "reads the first of them"})
}

// qualified keeps those of the best score when the name has a qualifier: package search
// ranks a definition that the qualifier does not enclose far below.
func qualified(hits []search.Hit, name string) []search.Hit {
	if !strings.Contains(name, ".") || len(hits) < 2 {
		return hits
	}
	for i, hit := range hits {
		if hit.Score < hits[0].Score*0.6 {
			return hits[:i]
		}
	}
	return hits
}

func (r *reader) definition(ctx context.Context, found search.Hit) (readItem, error) {
	item, err := r.lines(ctx, found.Path, int(found.StartLine), int(found.EndLine))
	if err != nil {
		return readItem{}, err
	}
	hit := &item.hit
	hit.Kind, hit.FQN, hit.ID = search.HitSymbol, nameOf(found), hitID(found)
	hit.SymbolKind, hit.Signature = found.Definition.Kind, found.Definition.Signature
	if r.tool != "" {
		hit.FQN = plainName(hit.FQN)
	}
	if hit.ContentHash != found.Content {
		r.moved(&item)
		return item, nil
	}
	item.data = nil // a symbol is not cut
	syntax, ok, err := r.outlines.of(ctx, found.Content, found.Language)
	if err != nil || !ok {
		return item, err
	}
	if at := locate(syntax, found.Definition, 0, 0); at >= 0 {
		describe(hit, syntax, at)
	}
	return item, nil
}

// moved marks an item whose file is not what the index has any more.
func (r *reader) moved(item *readItem) {
	item.hit.Verified = false
	r.warn(string(CodeSourceChanged), item.hit.FilePath+" changed since it was indexed: the lines may have moved")
	r.partial()
}

func (r *reader) lines(ctx context.Context, path string, start, end int) (readItem, error) {
	file, err := r.Disk.Live(ctx, r.codebase, path)
	if err != nil {
		return readItem{}, err
	}
	return r.file(ctx, path, file, start, end)
}

// hit reads the lines of a hit by its id. The item has no target when no file of the
// snapshot can be that of the id.
func (r *reader) hit(ctx context.Context, id string, place placed) (readItem, error) {
	for entry, err := range r.Catalog.Manifest(ctx, r.codebase.ID, r.view.Snapshot.Number) {
		if err != nil {
			return readItem{}, err
		}
		if !place.isPath(entry.Path) {
			continue
		}
		item, err := r.lines(ctx, entry.Path, place.start, place.end)
		if err != nil {
			return readItem{}, err
		}
		item.hit.ID, item.hit.Kind = id, search.HitChunk
		if !place.isContent(item.hit.ContentHash) {
			r.moved(&item)
			return item, nil
		}
		return item, r.describeLines(ctx, &item)
	}
	return readItem{}, nil
}

// describeLines adds what is known of the definition around the lines of an item.
func (r *reader) describeLines(ctx context.Context, item *readItem) error {
	hit := &item.hit
	syntax, ok, err := r.outlines.of(ctx, hit.ContentHash, hit.Language)
	if err != nil || !ok {
		return err
	}
	at := locate(syntax, nil, hit.StartLine, hit.EndLine)
	if at < 0 {
		return nil
	}
	d := syntax.Definitions[at]
	hit.FQN, hit.SymbolKind, hit.Signature = qualifiedName(syntax, at), d.Kind, d.Signature
	describe(hit, syntax, at)
	return nil
}

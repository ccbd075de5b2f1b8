package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/freshet/freshet/store"
)

// widen makes an item the whole of the definitions that its lines touch.
func (r *reader) widen(ctx context.Context, item *readItem) error {
	syntax, ok, err := r.syntaxOf(ctx, item)
	if err != nil || !ok {
		return err
	}
	hit := &item.hit
	start, end := hit.StartLine, hit.EndLine
	if at := locate(syntax, nil, start, end); at >= 0 {
		d := syntax.Definitions[at]
		start, end = int(d.StartLine), int(d.EndLine)
		hit.FQN, hit.SymbolKind, hit.Signature = qualifiedName(syntax, at), d.Kind, d.Signature
		describe(hit, syntax, at)
	} else {
		for _, d := range syntax.Definitions {
			if d.Parent < 0 && int(d.StartLine) <= hit.EndLine && int(d.EndLine) >= hit.StartLine {
				start, end = min(start, int(d.StartLine)), max(end, int(d.EndLine))
			}
		}
	}
	hit.StartLine, hit.EndLine, hit.Content = start, end, excerpt(item.data, start, end)
	item.last = end
	return nil
}

// skeleton replaces the text of an item by the definitions in its lines, each on a line of
// its own with its place.
func (r *reader) skeleton(ctx context.Context, item *readItem) error {
	syntax, ok, err := r.syntaxOf(ctx, item)
	if err != nil || !ok {
		return err
	}
	var b strings.Builder
	for i, d := range syntax.Definitions {
		depth := depthOf(syntax, i)
		inside := int(d.StartLine) >= item.hit.StartLine && int(d.StartLine) <= item.hit.EndLine
		if !inside || depth > 0 && (d.Kind == "variable" || d.Kind == "constant" || d.Kind == "field") {
			continue
		}
		text := strings.TrimSpace(d.Signature)
		if text == "" {
			text = d.Kind + " " + d.Name
		}
		fmt.Fprintf(&b, "%s%d-%d  %s\n", strings.Repeat("  ", depth), d.StartLine, d.EndLine, text)
	}
	item.data = nil
	item.hit.Content = b.String()
	return nil
}

// syntaxOf returns the syntax of a file as it was read. ok is false, with a warning, when
// the index has not parsed these bytes: the lines are shown then.
func (r *reader) syntaxOf(ctx context.Context, item *readItem) (syntax store.Syntax, ok bool, err error) {
	if r.outlines != nil {
		syntax, ok, err = r.outlines.of(ctx, item.hit.ContentHash, item.hit.Language)
	}
	if err == nil && !ok {
		r.warn("not_parsed", fmt.Sprintf("%s as it is on disk has not been parsed: its lines are shown instead of the view %s",
			item.hit.FilePath, r.show))
	}
	return syntax, ok, err
}

// depthOf counts the definitions around one.
func depthOf(syntax store.Syntax, at int) (depth int) {
	for p := syntax.Definitions[at].Parent; p >= 0 && depth < len(syntax.Definitions); p = syntax.Definitions[p].Parent {
		depth++
	}
	return depth
}

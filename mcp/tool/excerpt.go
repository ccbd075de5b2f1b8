package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// bodies cuts hits out of contents, each of which it reads once.
type bodies struct {
	contents Contents
	query    string // whose words tell which line of a chunk matched
	held     map[merkle.Hash][]byte
	outlines *outlines
	bare     int // hits without their code, because the store is away
}

func (b *bodies) hit(ctx context.Context, found search.Hit, around int) (Hit, error) {
	data, ok := b.held[found.Content]
	if !ok {
		var err error
		data, err = b.contents.Content(ctx, found.Content)
		switch {
		case errors.Is(err, store.ErrUnavailable):
			b.bare++
		case damaged(err):
			return Hit{}, errDamaged
		case err != nil:
			return Hit{}, fmt.Errorf("content of %s: %w", merkle.QuotePath(found.Path), err)
		default:
			b.held[found.Content] = data
		}
	}
	start, end := int(found.StartLine), int(found.EndLine)
	hit := Hit{
		ID: hitID(found), Kind: found.Kind, FilePath: merkle.QuotePath(found.Path),
		StartLine: start, EndLine: end, FQN: nameOf(found), Language: found.Language,
		SimilarityScore: found.Score, ContentHash: found.Content, Explain: found.Explain,
		Content: excerpt(data, start, end), Marks: found.Marks,
	}
	if around > 0 {
		hit.ContextBefore = excerpt(data, max(1, start-around), start-1)
		hit.ContextAfter = excerpt(data, end+1, end+around)
	}
	if d := found.Definition; d != nil {
		hit.SymbolKind, hit.Signature = d.Kind, d.Signature
	}
	if found.Kind == search.HitFile {
		return hit, nil
	}
	syntax, ok, err := b.outlines.of(ctx, found.Content, found.Language)
	if errors.Is(err, store.ErrUnavailable) || damaged(err) {
		return hit, nil
	}
	if err != nil || !ok {
		return hit, err
	}
	at := b.matched(syntax, found, data)
	if at < 0 {
		if found.Located && misnamed(syntax, found.Breadcrumb) {
			hit.FQN = ""
		}
		return hit, nil
	}
	d := syntax.Definitions[at]
	describe(&hit, syntax, at)
	hit.SymbolKind, hit.Signature = d.Kind, d.Signature
	if (found.Kind == search.HitChunk || found.Kind == search.HitLine) && !strings.HasSuffix(found.Breadcrumb, " "+d.Name) {
		hit.FQN = qualifiedName(syntax, at)
	}
	return hit, nil
}

// matched finds the definition that a hit is known by: the one that the search located;
// else the innermost one around the line of the best chunk that holds most of the words, a
// doc comment being part of what it documents; else the main one of that chunk, or of the
// hit. It returns -1 when there is none.
func (b *bodies) matched(syntax store.Syntax, found search.Hit, data []byte) int {
	if found.Located && found.Definition == nil {
		return -1
	}
	start, end := int(found.StartLine), int(found.EndLine)
	if found.Located || found.Kind != search.HitChunk {
		return locate(syntax, found.Definition, start, end)
	}
	from, to := int(found.BestStart), int(found.BestEnd)
	if from == 0 {
		from, to = start, end
	}
	if line := search.BestLine([]byte(excerpt(data, from, to)), b.query); line >= 0 {
		if at := around(syntax, from+line); at >= 0 {
			return at
		}
	}
	for _, lines := range [][2]int{{from, to}, {start, end}} {
		if at := mainOf(syntax, lines[0], lines[1]); at >= 0 {
			return at
		}
	}
	return locate(syntax, found.Definition, start, end)
}

// misnamed reports whether a breadcrumb ends in a definition of the file: a place that no
// definition is around is not known by the one beside it.
func misnamed(syntax store.Syntax, crumb string) bool {
	return slices.ContainsFunc(syntax.Definitions, func(d store.Definition) bool {
		return tells(d.Kind) && strings.HasSuffix(crumb, d.Kind+" "+d.Name)
	})
}

// errDamaged is of a hit whose content the store does not give.
var errDamaged = errors.New("the content is damaged")

// damaged reports whether a row of the store is lost or not what was written: it costs the
// one hit that needs it.
func damaged(err error) bool {
	return store.IsDamage(err) || errors.Is(err, store.ErrNotFound)
}

// nameOf is where a hit stands: its breadcrumb, or for a symbol that the breadcrumb of its
// chunk does not end in, the symbol's name.
func nameOf(found search.Hit) string {
	d := found.Definition
	if d == nil {
		return found.Breadcrumb
	}
	if found.Breadcrumb == "" || (found.Kind == search.HitSymbol && !strings.HasSuffix(found.Breadcrumb, " "+d.Name)) {
		return d.Name
	}
	return found.Breadcrumb
}

// excerpt returns lines start to end of data, 1-based and inclusive, with their line ends.
// Lines that do not exist are left out.
func excerpt(data []byte, start, end int) string {
	if start > end {
		return ""
	}
	from := lineOffset(data, start)
	to := from + lineOffset(data[from:], end-start+2)
	return string(data[from:to])
}

// lineOffset is where a 1-based line begins, or the length of data when it has fewer.
func lineOffset(data []byte, line int) int {
	offset := 0
	for ; line > 1 && offset < len(data); line-- {
		at := bytes.IndexByte(data[offset:], '\n')
		if at < 0 {
			return len(data)
		}
		offset += at + 1
	}
	return offset
}

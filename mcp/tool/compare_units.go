package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// unit is a symbol or a chunk of a file, as far as comparing goes.
type unit struct {
	path, name, kind string
	start, end       uint32
	// digest is of its own text, without that of the definitions inside; body is the same
	// without its name, so that it stays when only the name changes.
	digest, body merkle.Hash
}

// inside compares files by their symbols or chunks.
func (m *comparison) inside(ctx context.Context, source, settings []filePair) ([]ManifestChange, error) {
	if n := len(source) + len(settings); n > maxCompared {
		m.warn("compared_partly", plural(n-maxCompared, "file")+" beyond the first "+grouped(maxCompared)+" are not compared at this level")
		source = source[:min(len(source), maxCompared)]
		settings = settings[:min(len(settings), maxCompared-len(source))]
	}
	changes, err := m.units(ctx, source)
	if err != nil {
		return nil, err
	}
	again, err := m.units(ctx, settings)
	if err != nil {
		return nil, err
	}
	for i := range again {
		again[i].Kind = Reprocessed
	}
	return append(changes, again...), nil
}

// units lists the units that differ between the two sides of the files.
func (m *comparison) units(ctx context.Context, pairs []filePair) ([]ManifestChange, error) {
	var older, newer []unit
	changes := []ManifestChange{}
	for _, pair := range pairs {
		if pair.kind == merkle.Renamed.String() {
			changes = append(changes, pair.change())
			continue
		}
		before, err := m.unitsOf(ctx, m.older, pair.old)
		if err != nil {
			return nil, err
		}
		after, err := m.unitsOf(ctx, m.newer, pair.new)
		if err != nil {
			return nil, err
		}
		older, newer = append(older, before...), append(newer, after...)
	}
	changes = append(changes, compareUnits(older, newer)...)
	slices.SortStableFunc(changes, func(a, b ManifestChange) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.StartLine, b.StartLine), strings.Compare(a.Name, b.Name))
	})
	return changes, nil
}

// unitsOf reads the units of one side of a file, none when it does not have the file.
func (m *comparison) unitsOf(ctx context.Context, o *outlines, f store.FileEntry) ([]unit, error) {
	if f.Path == "" {
		return nil, nil
	}
	syntax, ok, err := o.of(ctx, f.Content, f.Language)
	if err != nil || !ok {
		return nil, err
	}
	delete(o.held, o.key(f.Content, f.Language)) // it is not asked for again
	path := merkle.QuotePath(f.Path)
	if m.level == LevelChunk {
		units := make([]unit, 0, len(syntax.Chunks))
		for _, k := range syntax.Chunks {
			units = append(units, unit{path, plainName(k.Breadcrumb), LevelChunk, k.StartLine, k.EndLine, k.TextHash, k.TextHash})
		}
		return units, nil
	}
	data, err := m.Contents.Content(ctx, f.Content)
	if err != nil {
		return nil, err
	}
	units := make([]unit, 0, len(syntax.Definitions))
	for i, d := range syntax.Definitions {
		own := ownText(syntax, i, data)
		units = append(units, unit{
			path, qualifiedName(syntax, i), d.Kind, d.StartLine, d.EndLine,
			sha256.Sum256([]byte(own)), sha256.Sum256([]byte(strings.ReplaceAll(own, d.Name, ""))),
		})
	}
	return units, nil
}

// ownText is the text of a definition without that of the definitions right inside it.
func ownText(syntax store.Syntax, at int, data []byte) string {
	d := syntax.Definitions[at]
	end := min(int(d.End), len(data))
	var b strings.Builder
	from := min(int(d.Start), end)
	for i := at + 1; i < len(syntax.Definitions); i++ {
		inner := syntax.Definitions[i]
		if int(inner.Parent) != at || int(inner.Start) < from || int(inner.End) > end {
			continue
		}
		b.Write(data[from:inner.Start])
		from = int(inner.End)
	}
	b.Write(data[from:end])
	return b.String()
}

// compareUnits pairs units by place and text, then by place, then by text: what is left on
// a side was removed or added.
func compareUnits(older, newer []unit) []ManifestChange {
	type place struct {
		path, name, kind string
		digest           merkle.Hash
	}
	older, newer, _ = pairUp(older, newer, func(u unit) place { return place{u.path, u.name, u.kind, u.digest} })
	older, newer, modified := pairUp(older, newer, func(u unit) place { return place{u.path, u.name, u.kind, merkle.Hash{}} })
	older, newer, renamed := pairUp(older, newer, func(u unit) place { return place{kind: u.kind, digest: u.body} })
	var changes []ManifestChange
	for _, p := range modified {
		changes = append(changes, p[1].change(merkle.Modified))
	}
	for _, p := range renamed {
		change := p[1].change(merkle.Renamed)
		change.From = p[0].path
		if p[0].name != p[1].name {
			change.From += " " + p[0].name
		}
		changes = append(changes, change)
	}
	for _, u := range older {
		changes = append(changes, u.change(merkle.Removed))
	}
	for _, u := range newer {
		changes = append(changes, u.change(merkle.Added))
	}
	return changes
}

// pairUp pairs units of equal keys, in order, and returns what is left and the pairs.
func pairUp[K comparable](older, newer []unit, key func(unit) K) (restOld, restNew []unit, pairs [][2]unit) {
	waiting := map[K][]int{}
	for i, u := range older {
		waiting[key(u)] = append(waiting[key(u)], i)
	}
	taken := make([]bool, len(older))
	for _, u := range newer {
		if list := waiting[key(u)]; len(list) > 0 {
			pairs = append(pairs, [2]unit{older[list[0]], u})
			taken[list[0]] = true
			waiting[key(u)] = list[1:]
			continue
		}
		restNew = append(restNew, u)
	}
	for i, u := range older {
		if !taken[i] {
			restOld = append(restOld, u)
		}
	}
	return restOld, restNew, pairs
}

func (u unit) change(kind merkle.ChangeKind) ManifestChange {
	return ManifestChange{
		Kind: kind.String(), Path: u.path, Name: u.name, SymbolKind: u.kind,
		StartLine: int(u.start), EndLine: int(u.end),
	}
}

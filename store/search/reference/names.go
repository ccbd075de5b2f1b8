package reference

import (
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// sortHits orders by score and path; hits of one file keep their order.
func sortHits(hits []search.Hit) []search.Hit {
	sort.SliceStable(hits, func(i, j int) bool {
		if hits[i].Score != hits[j].Score {
			return hits[i].Score > hits[j].Score
		}
		return hits[i].Path < hits[j].Path
	})
	return hits
}

// symbols answers the symbol mode.
func symbols(files []segment.File, q search.Query) []search.Hit {
	query := lexical.Analyze(q.Text)
	words := query.Words
	if query.Name != "" {
		words = slices.Compact(lexical.Words(query.Name))
	}
	var hits []search.Hit
	for i := range files {
		f := &files[i]
		if !passes(f, q) {
			continue
		}
		definitions := append([]store.Definition(nil), f.Syntax.Definitions...)
		sort.SliceStable(definitions, func(i, j int) bool { return definitions[i].StartLine < definitions[j].StartLine })
		for _, d := range definitions {
			class := nameClass(d.Name, query.Name, words)
			if class == 0 || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, d.Kind) {
				continue
			}
			hit := fileHit(f, search.HitSymbol, d.Start, d.End)
			hit.StartLine, hit.EndLine, hit.Definition = d.StartLine, d.EndLine, &d
			hit.Breadcrumb = f.Syntax.Chunks[chunkOf(f, d)].Breadcrumb
			hit.Score = class * symbolWeight(f, d, query)
			hits = append(hits, hit)
		}
	}
	return sortHits(hits)
}

func nameClass(name, want string, words []string) float64 {
	class := 0.0
	lower, lowerWant := strings.ToLower(name), strings.ToLower(want)
	switch {
	case want == "":
	case name == want:
		return 1
	case lower == lowerWant:
		return 0.95
	case strings.HasPrefix(lower, lowerWant):
		class = 0.7 + 0.1*float64(len(lowerWant))/float64(len(lower))
	}
	held := lexical.Words(name)
	for _, word := range words {
		if !slices.Contains(held, word) {
			return class
		}
	}
	if len(words) == 0 {
		return class
	}
	if slices.Equal(held, words) {
		return max(class, 0.9)
	}
	return max(class, 0.5+0.1*float64(len(words))/float64(len(held)))
}

func symbolWeight(f *segment.File, d store.Definition, query lexical.Query) float64 {
	weight := 1.0
	if n := len(query.Qualifiers); n > 0 && !qualified(f, d, query.Qualifiers[n-1]) {
		weight *= 0.5
	}
	if slices.Contains([]string{"field", "variable", "key", "heading", "selector"}, d.Kind) {
		weight *= 0.9
	}
	if f.Entry.Flags&store.FlagTest != 0 && !query.Asks("test", "tests") {
		weight *= 0.7
	}
	if f.Entry.Flags&(store.FlagVendored|store.FlagGenerated|store.FlagDocs) != 0 {
		weight *= 0.8
	}
	return weight
}

func qualified(f *segment.File, d store.Definition, want string) bool {
	near := lexical.AppendIdentifiers(nil, f.Syntax.Chunks[chunkOf(f, d)].Breadcrumb)
	for parent := d.Parent; parent >= 0; parent = f.Syntax.Definitions[parent].Parent {
		near = append(near, f.Syntax.Definitions[parent].Name)
	}
	base, _, _ := strings.Cut(path.Base(f.Entry.Path), ".")
	near = append(near, base, path.Base(path.Dir(f.Entry.Path)))
	return slices.ContainsFunc(near, func(name string) bool { return strings.EqualFold(name, want) })
}

// paths answers the path mode.
func paths(files []segment.File, q search.Query) []search.Hit {
	query := lexical.Analyze(q.Text)
	var hits []search.Hit
	for i := range files {
		f := &files[i]
		class := pathClass(f.Entry.Path, q.Text, query.Words)
		if class == 0 || !passes(f, q) {
			continue
		}
		size := uint32(0)
		if n := len(f.Syntax.Chunks); n > 0 {
			size = f.Syntax.Chunks[n-1].End
		}
		hit := fileHit(f, search.HitFile, 0, size)
		if n := len(f.Syntax.Chunks); n > 0 {
			hit.StartLine, hit.EndLine = 1, f.Syntax.Chunks[n-1].EndLine
		}
		hit.Score = class * pathPenalty(f, query)
		hits = append(hits, hit)
	}
	return sortHits(hits)
}

func pathClass(name, text string, words []string) float64 {
	if strings.ContainsAny(text, "*?") {
		if matchGlob(text, name) {
			return 0.8
		}
		return 0
	}
	base := path.Base(name)
	held, n := lexical.PathTokens(name), 0
	for _, word := range words {
		if slices.Contains(held, word) {
			n++
		}
	}
	lower, lowerText := strings.ToLower(name), strings.ToLower(text)
	switch {
	case name == text:
		return 1
	case strings.EqualFold(base, text):
		return 0.95
	case strings.EqualFold(strings.TrimSuffix(base, path.Ext(base)), text):
		return 0.9
	case strings.HasSuffix(lower, "/"+lowerText):
		return 0.85
	case strings.Contains(lower, lowerText):
		return 0.7
	case 2*n > len(words):
		return 0.5 * float64(n) / float64(len(words))
	}
	return 0
}

func pathPenalty(f *segment.File, query lexical.Query) float64 {
	penalty := 1.0
	if f.Entry.Flags&store.FlagTest != 0 && !query.Asks("test", "tests", "spec") {
		penalty *= 0.7
	}
	if f.Entry.Flags&(store.FlagVendored|store.FlagGenerated) != 0 {
		penalty *= 0.8
	}
	return penalty
}

// lines answers modes exact and regex: each matching line is a hit.
func lines(files []segment.File, q search.Query) []search.Hit {
	text, smart := q.Text, q.Case == search.CaseSmart
	if q.Mode == search.ModeExact {
		text, smart = regexp.QuoteMeta(text), smart || q.Case == ""
	}
	if q.Case == search.CaseInsensitive || smart && !strings.ContainsFunc(q.Text, unicode.IsUpper) {
		text = "(?i)" + text
	}
	expression := regexp.MustCompile(text)
	query := lexical.Analyze(q.Text)
	var hits []search.Hit
	for i := range files {
		f := &files[i]
		if !passes(f, q) {
			continue
		}
		for j, span := range f.Syntax.Chunks {
			if passesKinds(&chunk{file: f, index: j}, q) {
				hits = append(hits, chunkLines(f, span, expression, pathPenalty(f, query))...)
			}
		}
	}
	return sortHits(hits)
}

// chunkLines returns the hits of the matching lines of a chunk.
func chunkLines(f *segment.File, span store.Chunk, expression *regexp.Regexp, score float64) (hits []search.Hit) {
	at, line := span.Start, span.StartLine
	for _, text := range strings.SplitAfter(string(f.Content[span.Start:span.End]), "\n") {
		end := at + uint32(len(text))
		bare := strings.TrimRight(text, "\r\n")
		if text != "" && expression.MatchString(bare) {
			hit := fileHit(f, search.HitLine, at, end)
			for _, span := range expression.FindAllStringIndex(bare, -1) {
				hit.Marks = append(hit.Marks, search.Mark{Start: uint32(span[0]), End: uint32(span[1])})
			}
			hit.StartLine, hit.EndLine, hit.Breadcrumb = line, line, span.Breadcrumb
			hit.Definition, hit.Located, hit.Score = enclosing(f, line), true, score
			hits = append(hits, hit)
		}
		at, line = end, line+1
	}
	return hits
}

// enclosing is the innermost definition around a line.
func enclosing(f *segment.File, line uint32) *store.Definition {
	var best *store.Definition
	for i := range f.Syntax.Definitions {
		d := &f.Syntax.Definitions[i]
		if d.StartLine <= line && line <= d.EndLine && (best == nil || d.End-d.Start <= best.End-best.Start) {
			best = d
		}
	}
	return best
}

// namedIn finds the definition in chunks of a file whose name the query gives.
func namedIn(f *segment.File, text string, first, last, best int) *store.Definition {
	query := lexical.Analyze(text)
	definitions := append([]store.Definition(nil), f.Syntax.Definitions...)
	sort.SliceStable(definitions, func(i, j int) bool { return definitions[i].StartLine < definitions[j].StartLine })
	var found *store.Definition
	most := 0
	for i, d := range definitions {
		chunk, rank := chunkOf(f, d), 8*given(query, d.Name)
		if rank == 0 || chunk < first || chunk > last {
			continue
		}
		if n := len(query.Qualifiers); n > 0 && qualified(f, d, query.Qualifiers[n-1]) {
			rank += 4
		}
		if chunk == best {
			rank += 2
		}
		if !slices.Contains([]string{"field", "variable", "key", "heading", "selector"}, d.Kind) {
			rank++
		}
		if rank > most {
			found, most = &definitions[i], rank
		}
	}
	return found
}

// given is 3 for a name that the query has, 2 in another case, 1 by its words.
func given(query lexical.Query, name string) int {
	class := 0
	if len(query.Words) > 1 && slices.Equal(lexical.Words(name), query.Words) {
		class = 1
	}
	names := []string{query.Name}
	if !query.Symbol {
		names = slices.DeleteFunc(slices.Clone(query.Identifiers), func(id string) bool { return !lexical.LooksLikeSymbol(id) })
	}
	for _, id := range names {
		if id == name {
			return 3
		}
		if strings.EqualFold(id, name) {
			class = 2
		}
	}
	return class
}

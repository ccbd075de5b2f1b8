package reference

import (
	"math"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// ranked answers the hybrid, semantic and text modes.
func (c Corpus) ranked(result search.Result, q search.Query, all []*chunk) search.Result {
	query := lexical.Analyze(q.Text)
	vector := c.queryVector(q, all)
	result.VectorsUsed = vector != nil
	text := q.Mode != search.ModeSemantic || vector == nil
	weights := map[string]float64{}
	if text {
		weights, result.Considered.UnknownTerms = scoreText(all, query.Words)
	}
	var passing []*chunk
	for _, ch := range all {
		if passes(ch.file, q) && passesKinds(ch, q) {
			passing = append(passing, ch)
		}
	}
	candidates, complete := c.propose(passing, query, vector, text)
	if !complete {
		result.NotSearched = &search.NotSearched{Chunks: len(passing) - len(candidates)}
	}
	best := setBases(candidates, text, vector != nil)
	for _, ch := range candidates {
		ch.score = boosted(ch, best, query, weights, text)
	}
	sortChunks(candidates)
	addFileBonus(candidates)
	sortChunks(candidates)
	return paged(result, q, complete, join(candidates, q))
}

// scoreText scores every chunk by BM25 and returns the idf of each word.
func scoreText(all []*chunk, words []string) (map[string]float64, []string) {
	total := 0
	for _, ch := range all {
		total += ch.length
	}
	average := math.Max(1, float64(total)) / math.Max(1, float64(len(all)))
	weights := map[string]float64{}
	var unknown []string
	for _, word := range words {
		df := 0
		frequency := map[*chunk]int{}
		for _, ch := range all {
			for _, form := range append(lexical.Inflections(word), word) {
				frequency[ch] += ch.counts[form]
			}
			if frequency[ch] > 0 {
				df++
			}
		}
		if df == 0 {
			unknown = append(unknown, word)
		}
		idf := math.Log(1 + (float64(len(all)-df)+0.5)/(float64(df)+0.5))
		weights[word] = idf
		for _, ch := range all {
			if tf := float64(frequency[ch]); tf > 0 {
				ch.bm25 += float64(idf*float64(tf*2.2)) / (tf + float64(1.2*(0.25+float64(0.75*float64(ch.length)/average))))
			}
		}
	}
	return weights, unknown
}

// propose returns the candidates: the nearest by signs with ties, the best by words with
// ties, and the chunks that define what the query names.
func (c Corpus) propose(passing []*chunk, query lexical.Query, vector []int16, text bool) ([]*chunk, bool) {
	chosen := map[*chunk]bool{}
	complete := false
	if vector != nil {
		var with []*chunk
		for _, ch := range passing {
			if ch.row != nil {
				with = append(with, ch)
			}
		}
		near := c.best(with, func(ch *chunk) float64 { return -float64(distance(c.Vector, ch)) })
		complete = len(near) == len(passing)
		for _, ch := range near {
			chosen[ch] = true
		}
	}
	if text {
		var with []*chunk
		for _, ch := range passing {
			if ch.bm25 > 0 {
				with = append(with, ch)
			}
		}
		top := c.best(with, func(ch *chunk) float64 { return ch.bm25 })
		complete = complete || vector == nil && len(top) == len(with)
		for _, ch := range append(top, defining(passing, query)...) {
			chosen[ch] = true
		}
	}
	var out []*chunk
	for _, ch := range passing {
		if chosen[ch] {
			if vector != nil && ch.row != nil {
				ch.cosine = cosine(c.Vector, vector, ch)
			}
			out = append(out, ch)
		}
	}
	return out, complete || len(out) == len(passing)
}

func (c Corpus) best(chunks []*chunk, value func(*chunk) float64) (out []*chunk) {
	if len(chunks) <= c.Oversample {
		return chunks
	}
	values := make([]float64, len(chunks))
	for i, ch := range chunks {
		values[i] = value(ch)
	}
	sort.Sort(sort.Reverse(sort.Float64Slice(values)))
	for _, ch := range chunks {
		if value(ch) >= values[c.Oversample-1] {
			out = append(out, ch)
		}
	}
	return out
}

func defining(passing []*chunk, query lexical.Query) (out []*chunk) {
	for _, name := range query.Identifiers {
		lowered := strings.ToLower(name)
		sentence := len(query.Qualifiers) == 0 && query.Name == ""
		if len(name) < 3 || sentence && name == lowered && !lexical.LooksLikeSymbol(name) {
			continue // a small word in a sentence is just a word
		}
		found := map[*chunk]float64{}
		for _, ch := range passing {
			for _, d := range ch.file.Syntax.Definitions {
				if strings.ToLower(d.Name) == lowered && chunkOf(ch.file, d) == ch.index {
					found[ch] = math.Max(found[ch], definedAs(d, name))
				}
			}
		}
		if len(found) <= 100 {
			for ch, share := range found {
				ch.defines = math.Max(ch.defines, share)
				out = append(out, ch)
			}
		}
	}
	return out
}

// definedAs is half of the boost for a name in another case, and one and a half for a type.
func definedAs(d store.Definition, name string) float64 {
	types := []string{"class", "struct", "interface", "trait", "enum", "type", "module", "protocol", "object"}
	switch {
	case d.Name != name:
		return 0.5
	case slices.Contains(types, d.Kind):
		return 1.5
	}
	return 1
}

func setBases(candidates []*chunk, text, vector bool) (best float64) {
	bestText, bestCosine := 0.0, 0.0
	for _, ch := range candidates {
		bestText, bestCosine = math.Max(bestText, ch.bm25), math.Max(bestCosine, ch.cosine)
	}
	share := func(x, best float64) float64 {
		if best <= 0 || x <= 0 {
			return 0
		}
		return x / best
	}
	for _, ch := range candidates {
		words, nearness := share(ch.bm25, bestText), share(ch.cosine, bestCosine)
		switch {
		case !vector || text && ch.row == nil:
			ch.base = words
		case !text:
			ch.base = nearness
		default:
			ch.base = float64(0.6*nearness) + float64((1-0.6)*words)
		}
		best = math.Max(best, ch.base)
	}
	return best
}

func boosted(ch *chunk, best float64, query lexical.Query, weights map[string]float64, text bool) float64 {
	score := ch.base
	if text {
		score += stemBoost(ch, best, query)
		share := ch.defines
		if query.Name != "" {
			share *= 2
		}
		score += float64(0.3*best) * share
		score += pathBoost(ch, best, query, weights)
	}
	score += -float64(0.15*best) * (float64(min(strings.Count(ch.file.Entry.Path, "/"), 6)) / 6)
	penalty := 1.0
	if ch.file.Entry.Flags&store.FlagTest != 0 && !query.Asks("test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "benchmark", "benchmarks") {
		penalty *= 0.5
	}
	if aside(ch.file, query) || declares(ch.file.Entry.Path, query) {
		penalty *= 0.6
	}
	return score * penalty
}

func stemBoost(ch *chunk, best float64, query lexical.Query) float64 {
	about := ch.file.Entry.Path
	folder, name := path.Split(about)
	if name, _, _ = strings.Cut(name, "."); folder != "" && slices.Contains([]string{"index", "init", "lib", "main", "mod", "__init__"}, name) {
		about = strings.TrimSuffix(folder, "/") + "."
	}
	stem := lexical.StemTokens(about)
	n := 0
	for _, word := range stem {
		if slices.ContainsFunc(query.Words, func(w string) bool {
			return w == word || slices.Contains(lexical.Inflections(w), word) || len(word) >= 4 && strings.HasPrefix(w, word)
		}) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(0.15*best) * (float64(n) / float64(len(stem)))
}

func pathBoost(ch *chunk, best float64, query lexical.Query, weights map[string]float64) float64 {
	path := lexical.PathTokens(ch.file.Entry.Path)
	held, total := 0.0, 0.0
	for _, word := range query.Words {
		total += weights[word]
		if slices.ContainsFunc(append(lexical.Inflections(word), word), func(form string) bool { return slices.Contains(path, form) }) {
			held += weights[word]
		}
	}
	if held == 0 {
		return 0
	}
	return float64(0.2*best) * (held / total)
}

func aside(f *segment.File, query lexical.Query) bool {
	flags := f.Entry.Flags
	if flags&store.FlagDocs != 0 && !query.Asks("doc", "docs", "documentation", "readme", "changelog", "guide", "tutorial") ||
		flags&store.FlagVendored != 0 && !query.Asks("vendor", "vendored", "dependency", "dependencies") ||
		flags&store.FlagGenerated != 0 && !query.Asks("generated", "codegen") ||
		isData(f.Entry.Language) && !query.Asks("json", "yaml", "yml", "toml", "xml", "csv", "ini", "data", "fixture", "fixtures") {
		return true
	}
	for _, element := range strings.Split(strings.ToLower(f.Entry.Path), "/") {
		if slices.Contains([]string{"example", "examples", "_examples", "demo", "demos", "samples"}, element) &&
			!query.Asks("example", "examples", "demo", "sample", "samples") ||
			slices.Contains([]string{"legacy", "deprecated", "compat", "_compat"}, element) &&
				!query.Asks("legacy", "deprecated", "compat", "compatibility") {
			return true
		}
	}
	return false
}

func isData(language string) bool {
	return slices.Contains([]string{"", "Text", "JSON", "JSON with Comments", "YAML", "TOML", "XML", "INI", "CSV", "SVG"}, language)
}

func declares(path string, query lexical.Query) bool {
	if query.Asks("type", "types", "typing", "declaration", "declarations", "header", "headers") {
		return false
	}
	return slices.ContainsFunc([]string{".d.ts", ".pyi", ".h", ".hh", ".hpp", ".hxx"}, func(ending string) bool {
		return strings.HasSuffix(path, ending)
	})
}

func sortChunks(chunks []*chunk) {
	sort.SliceStable(chunks, func(i, j int) bool {
		a, b := chunks[i], chunks[j]
		if a.score != b.score {
			return a.score > b.score
		}
		if a.file != b.file {
			return a.file.Entry.Path < b.file.Entry.Path
		}
		return a.index < b.index
	})
}

// addFileBonus adds to a file's best chunk for its next four among the top sixty.
func addFileBonus(chunks []*chunk) {
	top := chunks[:min(60, len(chunks))]
	for i, ch := range top {
		if slices.ContainsFunc(top[:i], func(o *chunk) bool { return o.file == ch.file }) {
			continue
		}
		seen := 1
		for _, other := range top[i+1:] {
			if other.file == ch.file && seen <= 4 {
				seen++
				ch.bonus += float64(0.4*other.score) / float64(seen)
			}
		}
	}
	for _, ch := range top {
		ch.score += ch.bonus
	}
}

// join makes hits: the best chunk that none has taken with its good neighbours.
func join(ranked []*chunk, q search.Query) (hits []search.Hit) {
	taken, files := map[*chunk]bool{}, map[*segment.File]bool{}
	for i, ch := range ranked {
		if taken[ch] || !q.AllChunks && files[ch.file] {
			continue
		}
		first, last, spans := ch, ch, ch.file.Syntax.Chunks
		neighbour := func(index int) *chunk {
			for j, other := range ranked {
				if j < 60 && i < 60 && other.file == ch.file && other.index == index && !taken[other] &&
					other.score >= 0.8*(ch.score-ch.bonus) {
					return other
				}
			}
			return nil
		}
		lines := func(from, to *chunk) uint32 {
			return spans[to.index].EndLine - spans[from.index].StartLine + 1
		}
		for size := 1; size < 4; size++ {
			if after := neighbour(last.index + 1); after != nil && lines(first, after) <= 80 {
				last = after
			} else if before := neighbour(first.index - 1); before != nil && lines(before, last) <= 80 {
				first = before
			}
		}
		for _, other := range ranked {
			if other.file == ch.file && other.index >= first.index && other.index <= last.index {
				taken[other] = true
			}
		}
		files[ch.file] = true
		start, end := spans[first.index], spans[last.index]
		hit := fileHit(ch.file, search.HitChunk, start.Start, end.End)
		hit.StartLine, hit.EndLine = start.StartLine, end.EndLine
		hit.Breadcrumb, hit.Score = spans[ch.index].Breadcrumb, ch.score
		hit.BestStart, hit.BestEnd = spans[ch.index].StartLine, spans[ch.index].EndLine
		hit.Definition = firstDefinition(ch.file, ch.index)
		if named := namedIn(ch.file, q.Text, first.index, last.index, ch.index); named != nil {
			hit.Definition, hit.Located = named, true
		}
		hits = append(hits, hit)
	}
	return hits
}

package tooltest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Search implements tool.Searcher: a line that holds a word of the query is a hit, and one
// that begins a definition is a symbol. The score is the share of the words found.
func (w *World) Search(_ context.Context, view store.View, q search.Query) (search.Result, error) {
	w.mu.Lock()
	files := w.codebases[view.Snapshot.Codebase].manifests[view.Snapshot.Number]
	result := search.Result{TotalExact: true, VectorsUsed: true}
	result.Considered = search.Considered{Files: len(files), Chunks: len(files), Removed: map[string]int{}}
	for _, entry := range files {
		if !kept(entry, q) {
			result.Considered.Removed["paths"]++
			continue
		}
		result.Hits = append(result.Hits, hits(entry, string(w.contents[entry.Content]), q)...)
	}
	w.searches++
	if w.Wordless != "" && (q.Mode == search.ModeSemantic || q.Mode == search.ModeHybrid) {
		result.VectorsUsed = false
		result.Warnings = append(result.Warnings, search.Warning{Code: "embedder_unavailable", Message: w.Wordless})
	}
	count, hook := w.searches, w.MidSearch
	w.mu.Unlock()
	slices.SortFunc(result.Hits, func(a, b search.Hit) int {
		if a.Score != b.Score {
			return int(1000*b.Score) - int(1000*a.Score)
		}
		return strings.Compare(a.ID, b.ID)
	})
	result.Total = len(result.Hits)
	from := min(q.Offset+q.From.Found, result.Total)
	result.Hits = result.Hits[from:min(from+q.Limit, result.Total)]
	if q.Mode.ListsLines() {
		for i := range result.Hits {
			result.Places = append(result.Places, search.Place{Found: from + i + 1})
		}
	}
	if w.Unread > 0 && q.Mode.ListsLines() {
		result.TotalExact, result.UnreadCount, result.Unread = false, w.Unread, []string{"lost.go"}
		result.NotSearched = &search.NotSearched{Files: w.Unread}
	}
	if result.Total == 0 {
		result.Considered.UnknownTerms = strings.Fields(q.Text)
	}
	if hook != nil {
		hook(count)
	}
	return result, nil
}

func kept(entry store.FileEntry, q search.Query) bool {
	return len(q.Paths) == 0 || slices.ContainsFunc(q.Paths, func(glob string) bool {
		return strings.HasPrefix(entry.Path, strings.TrimSuffix(glob, "**"))
	})
}

func hits(entry store.FileEntry, text string, q search.Query) []search.Hit {
	var found []search.Hit
	words := strings.Fields(strings.ToLower(q.Text))
	definitions := parse(text).Definitions
	for i, line := range strings.Split(text, "\n") {
		hit := search.Hit{
			ID: fmt.Sprintf("%s:%04d", entry.Path, i+1), Kind: search.HitChunk, Path: entry.Path, Content: entry.Content,
			StartLine: uint32(i + 1), EndLine: uint32(i + 1), Language: entry.Language,
		}
		for _, d := range definitions {
			if int(d.StartLine) == i+1 {
				hit.Definition = &d
			}
		}
		if q.Mode == search.ModeSymbol {
			if hit.Definition == nil || !strings.Contains(hit.Definition.Name, q.Text) {
				continue
			}
			hit.Kind, hit.EndLine = search.HitSymbol, hit.Definition.EndLine
		}
		matched := 0
		for _, word := range words {
			if strings.Contains(strings.ToLower(line), word) {
				matched++
			}
		}
		if matched == 0 {
			continue
		}
		hit.Score = float64(matched) / float64(len(words))
		if q.Mode.ListsLines() {
			hit.Kind, hit.Marks = search.HitLine, []search.Mark{{Start: 0, End: uint32(len(line))}}
		}
		if q.Explain {
			hit.Explain = &search.Explain{BM25: float64(matched), Base: hit.Score, Boosts: map[string]float64{"symbol": 0.3}}
		}
		found = append(found, hit)
	}
	return found
}

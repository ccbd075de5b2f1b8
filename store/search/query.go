package search

import (
	"context"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Mode selects what a query is compared with.
type Mode string

// The modes of a search.
const (
	// ModeHybrid fuses words, vectors and symbols: the default.
	ModeHybrid Mode = "hybrid"
	// ModeSemantic ranks by vectors alone.
	ModeSemantic Mode = "semantic"
	// ModeText ranks by words alone (BM25); it needs no embedder.
	ModeText Mode = "text"
	// ModeSymbol looks up definitions by name.
	ModeSymbol Mode = "symbol"
	// ModePath ranks files by their paths.
	ModePath Mode = "path"
	// ModeExact gives every line that holds a text.
	ModeExact Mode = "exact"
	// ModeRegex gives every line that an RE2 expression matches.
	ModeRegex Mode = "regex"
)

// Modes lists every mode, in the order in which they are documented.
func Modes() []Mode {
	return []Mode{ModeHybrid, ModeSemantic, ModeText, ModeSymbol, ModePath, ModeExact, ModeRegex}
}

// ListsLines reports whether a mode gives matching lines, all of them, and no ranked hits.
func (m Mode) ListsLines() bool { return m == ModeExact || m == ModeRegex }

// Query is one search. The zero value of each field but Text is its default.
type Query struct {
	Text string
	Mode Mode // "" means ModeHybrid
	// Limit is the most hits returned, 0 means 10; Offset skips that many first.
	Limit, Offset int
	// Paths keeps files that match one of these globs (** crosses directories; a plain
	// folder name keeps all below it); a glob that begins with ! takes files out.
	Paths []string
	// Languages keeps files of these languages (go-enry's names or aliases, any case) or,
	// with a leading dot, these extensions.
	Languages []string
	// Kinds keeps definitions of these kinds (function, class, ...): a chunk stays when it
	// holds the start of one.
	Kinds []string
	// AllChunks returns every good chunk of a file; by default a file is one hit, with its
	// best span. Modes exact and regex return every matching line in either case.
	AllChunks bool
	// Case is the rule of case of modes exact and regex; "" means the default of the mode.
	Case Case
	// From is the cursor at which modes exact and regex continue: a place of an earlier answer.
	// Offset counts from there.
	From Place
	// Explain fills Hit.Explain. It never changes the order.
	Explain bool
}

// HitKind says what a hit is.
type HitKind string

// The kinds of hit.
const (
	HitChunk  HitKind = "chunk"
	HitSymbol HitKind = "symbol"
	HitFile   HitKind = "file"
	// HitLine is a line that matches, or the lines of one match.
	HitLine HitKind = "line"
)

// Hit is one answer. Lines are 1-based and inclusive. Hits are ordered by score downwards,
// then path, start line and id, which is a total order.
type Hit struct {
	// ID is derived from path, content and span: equal snapshots give equal ids.
	ID                 string
	Kind               HitKind
	Path               string
	Content            merkle.Hash
	StartLine, EndLine uint32
	Language           string
	Flags              store.FileFlags
	Breadcrumb         string
	// Definition is the symbol that the hit is, of a matching line the innermost one around
	// it, of chunks the one whose name the query gives, else the one that the best chunk
	// defines first. Located is set but for that last: also when nothing is around a line.
	Definition *store.Definition
	Located    bool
	// Marks are where a matching line matches, in bytes of the line; of a match over several
	// lines, of those lines together.
	Marks []Mark
	// BestStart and BestEnd are the lines of the best of the chunks that were joined.
	BestStart, BestEnd uint32
	Score              float64
	Explain            *Explain
}

// Mark is a span of bytes, End excluded.
type Mark struct {
	Start uint32 `json:"start"`
	End   uint32 `json:"end"`
}

// Explain is every signal that made a score. Signals that did not apply are zero.
type Explain struct {
	BM25       float64            `json:"bm25"`
	Cosine     float64            `json:"cosine"`
	Base       float64            `json:"base"`
	Boosts     map[string]float64 `json:"boosts"`
	Penalties  map[string]float64 `json:"penalties"`
	Terms      map[string]float64 `json:"terms"` // BM25 by query term
	RankText   int                `json:"rank_text"`
	RankVector int                `json:"rank_vector"`
	Joined     int                `json:"joined"` // adjacent chunks joined into the span
	// Rerank is the reranker's score, nil when it had no say; RankBefore is the place that
	// the hit had before.
	Rerank     *float64 `json:"rerank,omitempty"`
	RankBefore int      `json:"rank_before,omitempty"`
}

// Result is the answer to a query over one snapshot.
type Result struct {
	Hits []Hit
	// Total counts the hits there are. When TotalExact is false there may be more, and
	// NotSearched says where they would be.
	Total       int
	TotalExact  bool
	NotSearched *NotSearched
	// Places are the cursors of modes exact and regex behind each hit. Stopped is the cursor at
	// which their scan ended early, when the page has all hits found until then.
	Places  []Place
	Stopped *Place
	// Unread are the files of this page's scan whose contents the store does not give, and
	// UnreadCount counts those of earlier pages too: the answer does not hold for them.
	Unread      []string
	UnreadCount int
	// Considered says what was looked at, so that an empty answer explains itself.
	Considered Considered
	// VectorsUsed is false when the query could not be embedded, or no chunk has a vector.
	VectorsUsed bool
	Warnings    []Warning
}

// NotSearched counts what a total does not cover.
type NotSearched struct {
	Files  int `json:"files,omitempty"`  // not looked at
	Chunks int `json:"chunks,omitempty"` // that pass the filters and were not ranked
	Lines  int `json:"lines,omitempty"`  // too long for the expression
	// Ahead is set when the next page looks at the files.
	Ahead bool `json:"ahead,omitempty"`
}

// Considered counts what a query looked at and what each filter took away.
type Considered struct {
	Files, Chunks int
	// Removed counts the files that each filter alone would remove: paths, languages,
	// kinds.
	Removed map[string]int
	// UnknownTerms are query words that no chunk of the snapshot holds.
	UnknownTerms []string
}

// WarnWeak is the code of the warning that nothing fits a query well.
const WarnWeak = "weak_match"

// Warning is a remark on an answer that callers pass on.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// QueryEmbedder turns a query into a vector of the recipe's dimension.
type QueryEmbedder interface {
	Recipe() store.EmbeddingRecipe
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

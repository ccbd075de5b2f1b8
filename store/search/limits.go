package search

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a query.
const (
	MaxQueryBytes   = 2000
	MaxPatternBytes = 1000 // in modes exact and regex
	MaxLimit        = 100
	MaxOffset       = 1 << 30 // more than any list has
	MaxFilters      = 64      // globs, languages or kinds
	MaxGlobBytes    = 500
	DefaultLimit    = 10
	// MaxWords is how many distinct words of a query count.
	MaxWords = 64
)

// Kinds lists the kinds of definition that a query may filter by.
func Kinds() []string {
	return []string{"class", "constant", "enum", "field", "function", "heading", "interface", "key", "macro",
		"message", "method", "module", "selector", "service", "struct", "table", "trait", "type", "variable"}
}

// BadQuery says which field of a query is wrong, and how. Allowed lists the values that
// the field takes when they can be listed.
type BadQuery struct {
	Field   string
	Message string
	Allowed []string
}

// Error names the field and says what is wrong.
func (e *BadQuery) Error() string { return "query " + e.Field + ": " + e.Message }

// prepare checks a query and fills its defaults.
func (q Query) prepare() (Query, error) {
	if q.Mode == "" {
		q.Mode = ModeHybrid
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	bad := func(field, format string, arguments ...any) (Query, error) {
		return q, &BadQuery{Field: field, Message: fmt.Sprintf(format, arguments...)}
	}
	switch {
	case !slices.Contains(Modes(), q.Mode):
		allowed := make([]string, len(Modes()))
		for i, mode := range Modes() {
			allowed[i] = string(mode)
		}
		return q, &BadQuery{Field: "mode", Message: fmt.Sprintf("no mode %q", q.Mode), Allowed: allowed}
	case q.Text == "" || !q.Mode.ListsLines() && strings.TrimSpace(q.Text) == "":
		return bad("text", "is empty")
	case len(q.Text) > MaxQueryBytes:
		return bad("text", "has %d bytes, at most %d", len(q.Text), MaxQueryBytes)
	case q.Mode.ListsLines() && len(q.Text) > MaxPatternBytes:
		return bad("text", "has %d bytes, in mode %s at most %d", len(q.Text), q.Mode, MaxPatternBytes)
	case q.Case != "" && !slices.Contains(Cases(), q.Case):
		return q, &BadQuery{Field: "case", Message: fmt.Sprintf("no rule %q", q.Case), Allowed: []string{"smart", "sensitive", "insensitive"}}
	case q.Case != "" && !q.Mode.ListsLines():
		return bad("case", "is for modes exact and regex; mode %s never tells case apart", q.Mode)
	case q.Limit < 0 || q.Limit > MaxLimit:
		return bad("limit", "is %d, at most %d", q.Limit, MaxLimit)
	case q.Offset < 0 || q.Offset > MaxOffset:
		return bad("offset", "is %d, at most %d", q.Offset, MaxOffset)
	}
	for field, values := range map[string][]string{"paths": q.Paths, "languages": q.Languages, "kinds": q.Kinds} {
		if len(values) > MaxFilters {
			return bad(field, "has %d values, at most %d", len(values), MaxFilters)
		}
	}
	for i, kind := range q.Kinds {
		if !slices.Contains(Kinds(), strings.ToLower(kind)) {
			return q, &BadQuery{Field: "kinds", Message: fmt.Sprintf("no kind %q", q.Kinds[i]), Allowed: Kinds()}
		}
	}
	return q, nil
}

package search

import (
	"strings"

	"github.com/freshet/freshet/store"
)

// Permission says whether a snapshot may be read under the recipe in force.
type Permission struct {
	// Serve is set when the read may be answered from the snapshot.
	Serve bool
	// Reindex is set when the recipes differ: the answer, or the refusal, says
	// requires_reindex with the fields.
	Reindex bool
	Fields  []store.FieldChange
	// TextServes is set on a refusal that mode text, asked for by name, would lift.
	TextServes bool
}

// JudgeFields decides whether a query of a mode may read a snapshot of one recipe while
// another is in force, by the fields in which the two differ. Rows of another query side are
// never mixed in: a difference there refuses the read, but a mode that compares no vectors,
// asked for by name, is served when only the embedding differs. A difference only on the
// index side is served with a label.
// A caller that can still embed queries under the indexed recipe need not ask for the
// query's sake, but labels its answer all the same.
func JudgeFields(fields []store.FieldChange, mode Mode) Permission {
	p := Permission{Serve: true, Fields: fields}
	embedding, other := false, false
	for _, field := range p.Fields {
		p.Reindex = true
		switch {
		case field.Side != store.QuerySide:
		case strings.HasPrefix(field.Label, "embedding."):
			embedding = true
		default:
			other = true
		}
	}
	switch {
	case other:
		p.Serve = false
	case embedding && !withoutVectors(mode):
		p.Serve, p.TextServes = false, true
	}
	return p
}

// withoutVectors reports whether a mode compares no vectors.
func withoutVectors(mode Mode) bool {
	switch mode {
	case ModeText, ModeSymbol, ModePath, ModeExact, ModeRegex:
		return true
	}
	return false
}

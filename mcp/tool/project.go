package tool

import (
	"slices"
	"unicode/utf8"
)

// HitField says from which verbosity on a member of a hit is shown.
type HitField struct {
	Name  string // of the member in JSON
	Since Verbosity
	// Meaning is one line for the documentation.
	Meaning string
}

// HitFields is the field table of the tools: what each verbosity shows of a hit. Members
// that do not apply are left out at every level.
func HitFields() []HitField {
	return []HitField{
		{"id", VerbositySummary, "names the item; a target of read_code"},
		{"kind", VerbositySummary, "chunk, symbol, file or line"},
		{"file_path", VerbositySummary, "relative to the root, with slashes"},
		{"start_line", VerbositySummary, "first line, from 1"},
		{"end_line", VerbositySummary, "last line, inclusive"},
		{"fqn", VerbositySummary, "name with what encloses it"},
		{"symbol_kind", VerbositySummary, "kind of the definition"},
		{"signature", VerbositySummary, "the definition on one line"},
		{"edges", VerbositySummary, "how many calls, imports, types and inheritances are in it"},
		{"verified", VerbositySummary, "the file had these bytes when the answer was given"},
		{"seen", VerbositySummary, "shown before in this session; the text is left out"},
		{"index", VerbositySummary, "of a file that was read: indexed, changed or unindexed"},
		{"total_lines", VerbositySummary, "of a file that was read"},
		{"language", VerbosityStandard, "of the file"},
		{"parameters", VerbosityStandard, "of the definition"},
		{"doc", VerbosityStandard, "the comment above it: two sentences, at full all of it"},
		{"depends_on", VerbosityStandard, "what it refers to: the first 8 names, at full 50"},
		{"content", VerbosityStandard, "the lines"},
		{"marks", VerbosityFull, "where a line matches, in bytes of content; of modes exact and regex"},
		{"similarity_score", VerbosityStandard, "by which hits are ordered"},
		{"content_hash", VerbosityStandard, "SHA-256 of the file"},
		{"context_before", VerbosityFull, "lines before it, as many as were asked for"},
		{"context_after", VerbosityFull, "lines after it"},
		{"explain", VerbosityFull, "every signal of the score, when asked for; asking for it shows it at any level"},
	}
}

// How much of a list and a text the standard level shows.
const (
	standardDependencies = 8
	standardSentences    = 2
	// summarySignature is how many characters of a signature the level summary shows.
	summarySignature = 100
)

// project returns what a verbosity shows of a hit. The level full shows everything.
func project(h Hit, v Verbosity) Hit {
	switch v {
	case VerbositySummary:
		h = Hit{
			ID: h.ID, Kind: h.Kind, FilePath: h.FilePath, StartLine: h.StartLine, EndLine: h.EndLine,
			FQN: h.FQN, SymbolKind: h.SymbolKind, Signature: shortened(h.Signature, summarySignature), Edges: h.Edges,
			Verified: h.Verified, Seen: h.Seen, Index: h.Index, Lines: h.Lines, Explain: h.Explain,
		}
	case VerbosityStandard:
		h.Doc = sentences(h.Doc, standardSentences)
		h.DependsOn = slices.Clone(h.DependsOn[:min(len(h.DependsOn), standardDependencies)])
		h.ContextBefore, h.ContextAfter, h.Marks = "", "", nil
	}
	return h
}

// shortened cuts a text to at most n characters, the last of which then is an ellipsis.
func shortened(text string, n int) string {
	count := 0
	for i := range text {
		if count++; count == n {
			if rest := text[i:]; utf8.RuneCountInString(rest) > 1 {
				return text[:i] + "…"
			}
		}
	}
	return text
}

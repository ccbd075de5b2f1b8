package tool

import (
	"fmt"
	"strings"
)

// Render writes an answer as it is sent to an agent, in a format; any but json is Markdown.
// The text is the same in whatever process it is rendered.
func Render(e *Envelope, format string) string {
	if Format(format) == FormatJSON {
		return JSON(e)
	}
	return agentMarkdown(e)
}

// Markdown renders what an envelope says for people: the answer, the remarks, and last the
// verdict. An error is not part of it; see ErrorText. Text that comes from files is fenced
// and made Visible.
func Markdown(e *Envelope) string {
	var b strings.Builder
	for i := 0; i < len(e.Results); i++ {
		if n := sameFile(e.Results[i:]); n > 0 {
			writeLines(&b, e.Results[i:i+n])
			i += n - 1
			continue
		}
		writeHit(&b, e.Results[i])
	}
	writeReport(&b, e)
	for _, w := range e.Warnings {
		fmt.Fprintf(&b, "note: %s\n", Visible(w.Message))
	}
	if e.Truncated {
		fmt.Fprintf(&b, "note: %s left out to fit the size asked for\n", plural(e.TotalCount-e.ReturnedCount, "hit"))
	}
	if text := notSearched(e); text != "" {
		fmt.Fprintf(&b, "note: at least %s%s\n", plural(e.TotalCount, "hit"), text)
	}
	if e.HasMore && e.NotSearched != nil && e.NotSearched.Ahead {
		fmt.Fprintf(&b, "note: next_cursor %s\n", e.NextCursor)
	}
	if e.Error == nil {
		writeSteps(&b, e.NextSteps)
	}
	if spoken(e) {
		b.WriteString(VerdictLine(e.Freshness) + "\n")
	}
	return b.String()
}

// spoken reports whether the verdict belongs under the answer: not where the answer has
// one for each codebase, nor where it is read by programs.
func spoken(e *Envelope) bool {
	return e.Error == nil && e.Codebases == nil && e.Export == nil &&
		(e.Freshness.Snapshot > 0 || e.Freshness.Reason != "")
}

func writeHit(b *strings.Builder, h Hit) {
	fmt.Fprintf(b, "%s:%d-%d", h.FilePath, h.StartLine, h.EndLine)
	if h.Index == "" {
		fmt.Fprintf(b, "  %.3f", h.SimilarityScore)
	}
	if h.FQN != "" {
		b.WriteString("  " + oneLine(h.FQN))
	}
	switch {
	case h.Index != "" && h.Index != "indexed":
		fmt.Fprintf(b, "  (%s, %s)", h.Index, plural(h.Lines, "line"))
	case h.Index != "":
		fmt.Fprintf(b, "  (%s)", plural(h.Lines, "line"))
	}
	if !h.Verified {
		b.WriteString("  (the file has changed since)")
	}
	b.WriteString("\n")
	body := h.ContextBefore + h.Content
	if h.ContextAfter != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	writeFenced(b, h.Language, body+h.ContextAfter)
	writeExplain(b, h)
	b.WriteString("\n")
}

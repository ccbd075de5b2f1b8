package tool

import (
	"fmt"
	"strings"
)

// VerdictLine is the verdict on one line.
func VerdictLine(f Freshness) string {
	parts := []string{string(f.State)}
	if f.Snapshot > 0 {
		parts = append(parts, fmt.Sprintf("snapshot %d", f.Snapshot), f.Level, plural(f.Files, "file"))
	}
	if f.PendingCount > 0 {
		pending := fmt.Sprintf("%s pending: %s", grouped(f.PendingCount), strings.Join(f.PendingPaths, ", "))
		if f.PendingCount > len(f.PendingPaths) {
			pending += ", ..."
		}
		parts = append(parts, pending)
	}
	if f.Parked > 0 {
		parts = append(parts, grouped(f.Parked)+" parked")
	}
	if f.Ignored > 0 {
		parts = append(parts, grouped(f.Ignored)+" ignored")
	}
	if f.LinkedFiles > 0 {
		parts = append(parts, grouped(f.LinkedFiles)+" hard-linked")
	}
	if len(f.Requires) > 0 {
		parts = append(parts, "requires reindex: "+fieldList(f.Requires))
	}
	if f.Reason != "" {
		parts = append(parts, Visible(f.Reason))
	}
	if f.CheckedAt != nil {
		parts = append(parts, fmt.Sprintf("checked in %s ms", grouped(int(f.CheckMs))))
	}
	return strings.Join(parts, " · ")
}

func writeExplain(b *strings.Builder, h Hit) {
	x := h.Explain
	if x == nil {
		return
	}
	fmt.Fprintf(b, "  bm25 %.3f (rank %d) · cosine %.3f (rank %d) · base %.3f · joined %d\n",
		x.BM25, x.RankText, x.Cosine, x.RankVector, x.Base, x.Joined)
	if x.Rerank != nil {
		fmt.Fprintf(b, "  rerank %.3f (rank %d before)\n", *x.Rerank, x.RankBefore)
	}
	for _, signal := range []struct {
		label  string
		values map[string]float64
	}{{"terms", x.Terms}, {"boosts", x.Boosts}, {"penalties", x.Penalties}} {
		if len(signal.values) == 0 {
			continue
		}
		parts := make([]string, 0, len(signal.values))
		for _, key := range sortedKeys(signal.values) {
			parts = append(parts, fmt.Sprintf("%s %+.3f", oneLine(key), signal.values[key]))
		}
		fmt.Fprintf(b, "  %s: %s\n", signal.label, strings.Join(parts, ", "))
	}
}

// writeFenced puts text between fences that are longer than any it holds.
func writeFenced(b *strings.Builder, language, text string) {
	if text == "" {
		return
	}
	text = Visible(text)
	fence := fenceOf(text, 3)
	b.WriteString(fence + strings.ToLower(strings.ReplaceAll(language, " ", "-")) + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("\n")
	}
	b.WriteString(fence + "\n")
}

// fenceOf returns backticks, least at the fewest, that are more than any run in a text.
func fenceOf(text string, least int) string {
	run := 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		least = max(least, run+1)
	}
	return strings.Repeat("`", least)
}

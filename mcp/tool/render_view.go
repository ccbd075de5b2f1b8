package tool

import (
	"fmt"
	"strings"
)

func writeHealth(b *strings.Builder, h Health) {
	if h.Healthy {
		b.WriteString("healthy\n")
	}
	for _, p := range h.Problems {
		fmt.Fprintf(b, "problem %s: %s\n", p.Code, oneLine(p.Message))
	}
}

func writeDirectory(b *strings.Builder, d DirectoryInfo) {
	fmt.Fprintf(b, "%s  %s, %s", d.Path, plural(d.Files, "file"), size(d.Bytes))
	for _, l := range d.Languages {
		fmt.Fprintf(b, ", %s %s", oneLine(l.Language), grouped(l.Files))
	}
	b.WriteString("\n")
	for _, m := range d.Definitions {
		fmt.Fprintf(b, "  %s %s  %s:%d-%d\n", m.Kind, oneLine(m.Name), m.FilePath, m.StartLine, m.EndLine)
	}
}

func writeRecipe(b *strings.Builder, r RecipeReport) {
	fmt.Fprintf(b, "fingerprint %s\n", r.Fingerprint)
	for _, f := range r.Fields {
		fmt.Fprintf(b, "%s = %s (%s side)\n", f.Label, oneLine(f.Value), f.Side)
	}
	for _, f := range r.Requires {
		fmt.Fprintf(b, "in force: %s %s -> %s (%s side)\n", f.Label, oneLine(f.Old), oneLine(f.New), f.Side)
	}
}

func writePlan(b *strings.Builder, p Plan) {
	fmt.Fprintf(b, "%s would process %s, %s, in %s: %s cached, %s new\n", p.Action, plural(p.Files, "file"), size(p.Bytes),
		plural(p.Chunks, "chunk"), plural(p.EmbeddingsCached, "embedding"), grouped(p.EmbeddingsNew))
	if p.Estimated > 0 {
		fmt.Fprintf(b, "the chunks of %s are estimated from their size\n", plural(p.Estimated, "file"))
	}
}

package chunk

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/freshet/freshet/store"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

// fixtureName is the file of a language's fixture.
func fixtureName(language string) string {
	name := strings.ToLower(language)
	name = strings.NewReplacer(" ", "", "#", "sharp", "++", "pp").Replace(name)
	return filepath.Join("testdata", name+".txtar")
}

func fixture(t testing.TB, language string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(fixtureName(language))
	if err != nil {
		t.Fatalf("every language has a fixture: %v", err)
	}
	return archive
}

func fixtureSource(t testing.TB, language string) []byte {
	t.Helper()
	return fixture(t, language).Files[0].Data
}

// TestLanguages compares what is read from each fixture's first file with its others.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			archive := fixture(t, l.name)
			source := archive.Files[0]
			s := Cut(l.name, source.Data)
			if err := checkSyntax(source.Data, s); err != nil {
				t.Error(err)
			}
			got := &txtar.Archive{Comment: archive.Comment, Files: append([]txtar.File{source}, describe(s)...)}
			if *update {
				if err := os.WriteFile(fixtureName(l.name), txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); diff != "" {
				t.Errorf("differs from the fixture (-want +got); -update rewrites it:\n%s", diff)
			}
		})
	}
}

// describe writes a syntax for people.
func describe(s store.Syntax) []txtar.File {
	var chunks, definitions, references strings.Builder
	fmt.Fprintf(&chunks, "cut %s\n", s.Cut)
	for _, c := range s.Chunks {
		fmt.Fprintf(&chunks, "%d-%d %d bytes %s\n", c.StartLine, c.EndLine, c.End-c.Start, c.Breadcrumb)
	}
	for _, d := range s.Definitions {
		parent := ""
		if d.Parent >= 0 {
			parent = " in " + s.Definitions[d.Parent].Name
		}
		fmt.Fprintf(&definitions, "%d-%d %s %s%s\n    %s\n", d.StartLine, d.EndLine, d.Kind, d.Name, parent, d.Signature)
		if d.Doc != "" {
			fmt.Fprintf(&definitions, "    doc %q\n", d.Doc)
		}
	}
	for _, r := range s.References {
		from := ""
		if r.From >= 0 {
			from = " from " + s.Definitions[r.From].Name
		}
		fmt.Fprintf(&references, "%d %s %s%s\n", r.Line, r.Kind, r.Name, from)
	}
	return []txtar.File{
		{Name: "chunks", Data: []byte(chunks.String())},
		{Name: "definitions", Data: []byte(definitions.String())},
		{Name: "references", Data: []byte(references.String())},
	}
}

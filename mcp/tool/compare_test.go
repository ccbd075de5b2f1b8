package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
)

// function is the text of a function of the fixture's language.
func function(name string, calls ...string) string {
	text := "func " + name + "() {\n"
	for _, c := range calls {
		text += "\tcall " + c + "\n"
	}
	return text + "}\n\n"
}

// compared syncs a world after a change and lists what its two snapshots differ in.
func compared(t *testing.T, before, after map[string]string, recipes map[uint64]store.Recipe, level string) ([]string, *tool.Envelope) {
	t.Helper()
	w := tooltest.New()
	w.Recipes = recipes
	w.Write(root, "keep.txt", "in both\n")
	for path, text := range before {
		w.Write(root, path, text)
	}
	call(t, w, "index", tool.ManageParams{Path: root, Wait: true})
	for path := range before {
		w.Remove(root, path)
	}
	for path, text := range after {
		w.Write(root, path, text)
	}
	call(t, w, "reindex", tool.ManageParams{Scope: scope(), Wait: true})
	e, _ := use(t, w, tool.ToolCompare, arguments{"from": 1, "level": level, "limit": 1000, "max_response_tokens": 25_000})
	if e.Error != nil {
		t.Fatal(e.Error)
	}
	var lines []string
	for _, c := range *e.Changes {
		line := c.Kind + " " + c.Path
		if c.Name != "" {
			line += " " + c.Name
		}
		if c.From != "" {
			line += " from " + c.From
		}
		lines = append(lines, line)
	}
	return lines, e
}

func TestCompareLevels(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"a.go": function("Stays", "x") + function("Changes", "x") + function("Goes", "y", "z") + function("Old", "p", "q"),
		"b.go": function("Moves", "m", "n"),
		"c.go": function("Whole", "w"),
	}
	after := map[string]string{
		"a.go": "\n\n" + function("Stays", "x") + function("Changes", "other") + function("Comes", "k") + function("New", "p", "q"),
		"d.go": function("Whole", "w"),
		"e.go": function("Other", "o") + function("Moves", "m", "n"),
	}
	cases := map[string][]string{
		"file": {"modified a.go", "removed b.go", "renamed d.go from c.go", "added e.go"},
		"symbol": {
			"modified a.go Changes", "renamed a.go New from a.go Old", "removed a.go Goes", "added a.go Comes",
			"renamed d.go from c.go", "added e.go Other", "renamed e.go Moves from b.go",
		},
		"chunk": {
			"modified a.go Changes", "added a.go Comes", "removed a.go Goes", "added a.go New", "removed a.go Old",
			"renamed d.go from c.go", "added e.go Other", "renamed e.go Moves from b.go",
		},
	}
	for level, want := range cases {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			got, e := compared(t, before, after, nil, level)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if len(e.Compared.Settings) != 0 || e.Compared.Reprocessed != 0 {
				t.Errorf("settings %v, %d reprocessed", e.Compared.Settings, e.Compared.Reprocessed)
			}
		})
	}
}

// TestCompareTellsSettingsFromSource: files of the same content are reprocessed when a
// setting that their syntax or vectors depend on changed, and not otherwise.
func TestCompareTellsSettingsFromSource(t *testing.T) {
	t.Parallel()
	was := store.Recipe{Chunker: "1", Tokenizer: "1", Grammars: map[string]string{"Go": "1", "Markdown": "1"}}
	before := map[string]string{"a.go": function("A", "x"), "b.md": "text\n", "c.go": function("C", "y")}
	after := map[string]string{"a.go": function("A", "x"), "b.md": "text\n", "c.go": function("C", "z")}
	cases := []struct {
		name   string
		change func(r *store.Recipe)
		want   []string
		says   string
	}{
		{"nothing", func(*store.Recipe) {}, []string{"modified c.go"}, "the source changed"},
		{"a grammar", func(r *store.Recipe) { r.Grammars = map[string]string{"Go": "1", "Markdown": "2"} },
			[]string{"modified c.go", "reprocessed b.md"}, "the source changed; the index settings changed"},
		{"the chunker", func(r *store.Recipe) { r.Chunker = "2" },
			[]string{"modified c.go", "reprocessed a.go", "reprocessed b.md", "reprocessed keep.txt"}, "the source changed; the index settings changed"},
		{"the model", func(r *store.Recipe) { r.Embedding.Model = "2" },
			[]string{"modified c.go", "reprocessed a.go", "reprocessed b.md", "reprocessed keep.txt"}, "the source changed; the index settings changed"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			now := was
			test.change(&now)
			got, e := compared(t, before, after, map[uint64]store.Recipe{1: was, 2: now}, "file")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if text := tool.Render(e, "markdown"); !strings.Contains(text, test.says+"\n") {
				t.Errorf("the text does not say %q:\n%s", test.says, text)
			}
		})
	}
}

// TestCompareAccountsForEveryUnit: for any two trees each function of either side is named
// at most once, and those that are not are in both.
func TestCompareAccountsForEveryUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		tree := func(label string) (map[string]string, map[string]int) {
			files, names := map[string]string{}, map[string]int{}
			for i := range rapid.IntRange(0, 3).Draw(r, label+" files") {
				text := ""
				for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C", "D"}), 0, 4, rapid.ID[string]).Draw(r, label) {
					text += function(name, rapid.SampledFrom([]string{"x", "y"}).Draw(r, "body"))
					names[name]++
				}
				files[fmt.Sprintf("f%d.go", i)] = "// " + label + "\n" + text // no two files are equal
			}
			return files, names
		}
		before, had := tree("before")
		after, has := tree("after")
		changes, _ := compared(t, before, after, nil, "symbol")
		count := map[string]int{}
		for _, c := range changes {
			kind, _, _ := strings.Cut(c, " ")
			count[kind]++
		}
		total := func(names map[string]int) (n int) {
			for _, k := range names {
				n += k
			}
			return n
		}
		if total(had)-count["removed"] != total(has)-count["added"] {
			r.Fatalf("%d before less %d removed is not %d after less %d added:\n%s", total(had), count["removed"],
				total(has), count["added"], strings.Join(changes, "\n"))
		}
		if !slices.Equal(changes, slices.Compact(slices.Clone(changes))) {
			r.Fatalf("a change is named twice:\n%s", strings.Join(changes, "\n"))
		}
	})
}

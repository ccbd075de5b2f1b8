package eval_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/eval"
)

func TestScore(t *testing.T) {
	t.Parallel()
	file := func(path string) eval.Span { return eval.Span{Path: path} }
	log2 := func(x float64) float64 { return 1 / math.Log2(x) }
	many := make([]eval.Span, 12)
	for i := range many {
		many[i] = file(strings.Repeat("x", i+1))
	}
	for _, c := range []struct {
		name          string
		hits, targets []eval.Span
		want          eval.Scores
	}{
		{"first", []eval.Span{file("a"), file("b")}, []eval.Span{file("a")}, eval.Scores{1, 1, 1, 1}},
		{"second", []eval.Span{file("b"), file("a")}, []eval.Span{file("a")}, eval.Scores{log2(3), 0, 1, 0.5}},
		{"none", []eval.Span{file("b")}, []eval.Span{file("a")}, eval.Scores{}},
		{"no hits", nil, []eval.Span{file("a")}, eval.Scores{}},
		{"one of two", []eval.Span{file("a")}, []eval.Span{file("a"), file("b")}, eval.Scores{1 / (1 + log2(3)), 1, 0.5, 1}},
		{"a rank counts once", []eval.Span{file("a")}, []eval.Span{file("a"), {"a", 3, 9}}, eval.Scores{1 / (1 + log2(3)), 1, 1, 1}},
		{"folders in front of the target", []eval.Span{file("a.go")}, []eval.Span{file("src/a.go")}, eval.Scores{1, 1, 1, 1}},
		{"folders in front of the hit", []eval.Span{file("src/a.go")}, []eval.Span{file("a.go")}, eval.Scores{1, 1, 1, 1}},
		{"another name with that end", []eval.Span{file("ba.go")}, []eval.Span{file("a.go")}, eval.Scores{}},
		{"lines that overlap", []eval.Span{{"a", 1, 5}}, []eval.Span{{"a", 5, 9}}, eval.Scores{1, 1, 1, 1}},
		{"lines that do not", []eval.Span{{"a", 1, 4}}, []eval.Span{{"a", 5, 9}}, eval.Scores{}},
		{"the eleventh", many, []eval.Span{many[10]}, eval.Scores{}},
	} {
		got := eval.Score(c.hits, c.targets)
		for i, pair := range [][2]float64{{got.NDCG, c.want.NDCG}, {got.Hit1, c.want.Hit1}, {got.Recall, c.want.Recall}, {got.MRR, c.want.MRR}} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: figure %d is %v, want %v", c.name, i, pair[0], pair[1])
			}
		}
	}
}

// write makes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"q/repos.json":           `[{"name":"two","language":"python","benchmark_root":"src"},{"name":"one","language":"go","benchmark_root":null}]`,
		"q/annotations/one.json": `[{"query":"close the connection pool","relevant":["pool.go"],"secondary":[],"category":"semantic"},{"query":"Batch","relevant":[{"path":"batch.go","start_line":3,"end_line":4}],"category":"symbol"}]`,
		"q/annotations/two.json": `[{"query":"retry with backoff","relevant":["src/retry.py"],"category":"semantic"}]`,
		"r/one/pool.go":          "package one\n\n// ClosePool closes every connection of the pool.\nfunc ClosePool() {}\n",
		"r/one/batch.go":         "package one\n\n// Batch gathers entries.\ntype Batch struct{}\n",
		"r/two/src/retry.py":     "def retry(call):\n    \"\"\"Call again with backoff.\"\"\"\n    return call()\n",
		"r/two/other.py":         "def retry_backoff(): pass\n",
	})
	report := evaluate(t, filepath.Join(dir, "q"), filepath.Join(dir, "r"), true)
	rows := report.Overall()
	if len(rows) != len(eval.Ablations()) || rows[0].Name != "default" || rows[0].NDCG != 1 || rows[0].Queries != 3 {
		t.Errorf("overall: %+v", rows)
	}
	if got := report.Categories(); len(got) != 2 || got[0].Name != "semantic" || got[0].Queries != 2 {
		t.Errorf("categories: %+v", got)
	}
	if got := report.Languages(); len(got) != 2 || got[0].Name != "go" || got[0].Queries != 2 {
		t.Errorf("languages: %+v", got)
	}
	sizes := report.Sizes()
	if sizes.Recall[500] != 1 || sizes.First <= 0 || sizes.First > 100 {
		t.Errorf("sizes: %+v", sizes)
	}
	var out bytes.Buffer
	if err := report.WriteResults(&out); err != nil {
		t.Fatal(err)
	}
	var results map[string]map[string][][3]any
	if err := json.Unmarshal(out.Bytes(), &results); err != nil || results["two"]["retry with backoff"][0][0] != "retry.py" {
		t.Errorf("results: %s (%v)", &out, err)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "no vectors") {
		t.Errorf("report: %s (%v)", &text, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"an empty folder":        {},
		"repositories elsewhere": {"repos.json": `[{"name":"../x"}]`, "annotations/x.json": `[]`},
		"folders elsewhere":      {"repos.json": `[{"name":"x","benchmark_root":"../.."}]`, "annotations/x.json": `[]`},
		"no annotations":         {"repos.json": `[{"name":"x"}]`},
		"broken annotations":     {"repos.json": `[{"name":"x"}]`, "annotations/x.json": `{`},
	} {
		dir := t.TempDir()
		write(t, dir, files)
		if got, err := eval.Load(dir); err == nil {
			t.Errorf("%s: loaded %+v", name, got)
		}
	}
	if _, err := eval.Run(t.Context(), nil, eval.Options{Queries: "../../testdata/eval", Repos: t.TempDir()}); !errors.Is(err, eval.ErrNoCheckout) {
		t.Errorf("a missing checkout gives %v", err)
	}
}

package search_test

import (
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

func TestJudgeFields(t *testing.T) {
	t.Parallel()
	base := func() store.Recipe {
		return store.Recipe{Schema: 1, Tokenizer: "1", Chunker: "1", IgnoreRules: "1",
			Grammars: map[string]string{"Go": "1", "C": "1"},
			Embedding: store.EmbeddingRecipe{Provider: "builtin", Model: "m", Artifact: "a", Dimension: 8,
				Normalization: "l2"}}
	}
	const (
		served  = "served"
		labeled = "labeled"
		refused = "refused"
		text    = "text only"
	)
	cases := []struct {
		field  string
		change func(*store.Recipe)
		want   string
	}{
		{"", func(*store.Recipe) {}, served},
		{"schema", func(r *store.Recipe) { r.Schema++ }, refused},
		{"tokenizer", func(r *store.Recipe) { r.Tokenizer = "2" }, refused},
		{"embedding.provider", func(r *store.Recipe) { r.Embedding.Provider = "x" }, text},
		{"embedding.model", func(r *store.Recipe) { r.Embedding.Model = "x" }, text},
		{"embedding.artifact", func(r *store.Recipe) { r.Embedding.Artifact = "x" }, text},
		{"embedding.dimension", func(r *store.Recipe) { r.Embedding.Dimension = 9 }, text},
		{"embedding.normalization", func(r *store.Recipe) { r.Embedding.Normalization = "" }, text},
		{"chunker", func(r *store.Recipe) { r.Chunker = "2" }, labeled},
		{"ignore_rules", func(r *store.Recipe) { r.IgnoreRules = "2" }, labeled},
		{"grammar.Go", func(r *store.Recipe) { r.Grammars["Go"] = "2" }, labeled},
		{"grammar.C", func(r *store.Recipe) { delete(r.Grammars, "C") }, labeled},
		{"grammar.Zig", func(r *store.Recipe) { r.Grammars["Zig"] = "1" }, labeled},
	}
	for _, c := range cases {
		t.Run(c.field, func(t *testing.T) {
			t.Parallel()
			now := base()
			c.change(&now)
			for _, mode := range append([]search.Mode{""}, search.Modes()...) {
				vectors := mode == "" || mode == search.ModeHybrid || mode == search.ModeSemantic
				got := search.JudgeFields(base().Diff(now), mode)
				serve := c.want == served || c.want == labeled || c.want == text && !vectors
				if got.Serve != serve || got.Reindex != (c.want != served) ||
					got.TextServes != (c.want == text && vectors) {
					t.Errorf("mode %q: %+v, want %s", mode, got, c.want)
				}
				if c.field != "" && (len(got.Fields) != 1 || got.Fields[0].Label != c.field) {
					t.Errorf("mode %q: fields %+v, want %s", mode, got.Fields, c.field)
				}
			}
		})
	}
	both := base()
	both.Schema, both.Embedding.Model = 2, "x"
	if got := search.JudgeFields(base().Diff(both), search.ModeText); got.Serve || got.TextServes {
		t.Errorf("schema and embedding differ: %+v, want a refusal", got)
	}
}

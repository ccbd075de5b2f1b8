package store

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sample() Recipe {
	return Recipe{
		Schema: 1, Tokenizer: "t1", Chunker: "c1", IgnoreRules: "i1",
		Embedding: EmbeddingRecipe{Provider: "p", Model: "m", Artifact: "a", Dimension: 256, Normalization: "l2"},
		Grammars:  map[string]string{"Go": "g1", "C++": "g2"},
	}
}

// goldenFingerprint never changes: stores hold fingerprints made by every release.
const goldenFingerprint = "f990d73b1ecbfb8d1fbb8096c0d75c1d5b56336a07e8b60a7bd9d593e4936e64"

func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	if got := sample().Fingerprint(); got != goldenFingerprint {
		t.Fatalf("fingerprint of the sample is %s, want %s", got, goldenFingerprint)
	}
	if got := sample().Fingerprint().Short(); got != goldenFingerprint[:12] {
		t.Fatalf("short fingerprint is %s", got)
	}
}

// TestEveryFieldIsInTheFingerprint walks the struct, so that a field that is added and not
// digested fails here.
func TestEveryFieldIsInTheFingerprint(t *testing.T) {
	t.Parallel()
	before := sample()
	seen := map[Fingerprint]string{before.Fingerprint(): "the sample"}
	var walk func(name string, at func(r *Recipe) reflect.Value, kind reflect.Type)
	walk = func(name string, at func(r *Recipe) reflect.Value, kind reflect.Type) {
		if kind.Kind() == reflect.Struct {
			for i := range kind.NumField() {
				walk(name+"."+kind.Field(i).Name, func(r *Recipe) reflect.Value { return at(r).Field(i) }, kind.Field(i).Type)
			}
			return
		}
		now := sample()
		change(t, name, at(&now))
		if other, ok := seen[now.Fingerprint()]; ok {
			t.Errorf("changing %s gives the fingerprint of %s", name, other)
		}
		seen[now.Fingerprint()] = name
		if diff := before.Diff(now); len(diff) != 1 {
			t.Errorf("changing %s gives the differences %v", name, diff)
		}
	}
	walk("Recipe", func(r *Recipe) reflect.Value { return reflect.ValueOf(r).Elem() }, reflect.TypeOf(before))
}

func change(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "'")
	case reflect.Int:
		v.SetInt(v.Int() + 1)
	case reflect.Map:
		v.SetMapIndex(reflect.ValueOf("Go"), reflect.ValueOf("changed"))
	default:
		t.Fatalf("%s is of kind %s, which this test cannot change", name, v.Kind())
	}
}

func TestFieldsHaveDistinctLabels(t *testing.T) {
	t.Parallel()
	labels := map[string]bool{}
	for _, f := range sample().Fields() {
		if labels[f.Label] {
			t.Errorf("label %s stands twice", f.Label)
		}
		labels[f.Label] = true
		if f.Side != QuerySide && f.Side != IndexSide {
			t.Errorf("%s has the side %q", f.Label, f.Side)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(r *Recipe)
		want   []FieldChange
	}{
		{"nothing", func(*Recipe) {}, nil},
		{"schema", func(r *Recipe) { r.Schema = 2 }, []FieldChange{{"schema", "1", "2", QuerySide}}},
		{"tokenizer", func(r *Recipe) { r.Tokenizer = "t2" }, []FieldChange{{"tokenizer", "t1", "t2", QuerySide}}},
		{"model and dimension", func(r *Recipe) { r.Embedding.Model, r.Embedding.Dimension = "n", 8 }, []FieldChange{
			{"embedding.model", "m", "n", QuerySide}, {"embedding.dimension", "256", "8", QuerySide},
		}},
		{"chunker", func(r *Recipe) { r.Chunker = "c2" }, []FieldChange{{"chunker", "c1", "c2", IndexSide}}},
		{"grammar changed", func(r *Recipe) { r.Grammars["Go"] = "g9" }, []FieldChange{{"grammar.Go", "g1", "g9", IndexSide}}},
		{"grammar added", func(r *Recipe) { r.Grammars["Zig"] = "z" }, []FieldChange{{"grammar.Zig", "", "z", IndexSide}}},
		{"grammars removed", func(r *Recipe) { r.Grammars = nil }, []FieldChange{
			{"grammar.C++", "g2", "", IndexSide}, {"grammar.Go", "g1", "", IndexSide},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := sample()
			tt.change(&now)
			if diff := cmp.Diff(tt.want, sample().Diff(now)); diff != "" {
				t.Error(diff)
			}
			if same := sample().Fingerprint() == now.Fingerprint(); same != (tt.want == nil) {
				t.Errorf("fingerprints are equal: %v", same)
			}
		})
	}
}

// TestFingerprintSeparatesFields moves bytes between neighbouring fields.
func TestFingerprintSeparatesFields(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Recipe {
			text := rapid.StringMatching(`[ab=\n]{0,3}`)
			return Recipe{
				Tokenizer: text.Draw(t, name+" tokenizer"), Chunker: text.Draw(t, name+" chunker"),
				Embedding: EmbeddingRecipe{Provider: text.Draw(t, name+" provider"), Model: text.Draw(t, name+" model")},
				Grammars:  map[string]string{text.Draw(t, name+" language"): text.Draw(t, name+" grammar")},
			}
		}
		a, b := draw("a"), draw("b")
		if equal := reflect.DeepEqual(a, b); equal != (a.Fingerprint() == b.Fingerprint()) {
			t.Fatalf("recipes are equal: %v, fingerprints: %s %s", equal, a.Fingerprint(), b.Fingerprint())
		}
		if equal := a.Fingerprint() == b.Fingerprint(); equal != (len(a.Diff(b)) == 0) {
			t.Fatalf("fingerprints are equal: %v, differences: %v", equal, a.Diff(b))
		}
	})
}

func TestEmbeddingKey(t *testing.T) {
	t.Parallel()
	r := sample()
	key := r.Embedding.Key()
	r.Schema, r.Chunker, r.Grammars = 9, "other", nil
	if r.Embedding.Key() != key {
		t.Error("the key depends on more than the embedding")
	}
	kind := reflect.TypeOf(r.Embedding)
	for i := range kind.NumField() {
		e := sample().Embedding
		change(t, kind.Field(i).Name, reflect.ValueOf(&e).Elem().Field(i))
		if e.Key() == key {
			t.Errorf("the key does not depend on %s", kind.Field(i).Name)
		}
	}
}

func TestSyntaxVersion(t *testing.T) {
	t.Parallel()
	r := sample()
	tests := map[string]string{"Go": "c1/Go@g1", "C++": "c1/C++@g2", "COBOL": "c1/fallback", "": "c1/fallback"}
	for language, want := range tests {
		if got := r.SyntaxVersion(language); got != want {
			t.Errorf("version of %q is %s, want %s", language, got, want)
		}
	}
	r.Embedding, r.Tokenizer, r.Schema = EmbeddingRecipe{}, "", 7
	if got := r.SyntaxVersion("Go"); got != "c1/Go@g1" {
		t.Errorf("version depends on more than chunker and grammar: %s", got)
	}
}

// TestHistoryNamesEveryField keeps history.md complete.
func TestHistoryNamesEveryField(t *testing.T) {
	t.Parallel()
	history, err := os.ReadFile("history.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sample().Fields() {
		label, _, grammar := strings.Cut(f.Label, "grammar.")
		if !grammar && !strings.Contains(string(history), "`"+f.Label+"`") {
			t.Errorf("history.md does not name %s", label)
		}
	}
	if !strings.Contains(string(history), "`grammar.<language>`") {
		t.Error("history.md does not name the grammars")
	}
}

func TestValidCodebaseID(t *testing.T) {
	t.Parallel()
	for id, valid := range map[CodebaseID]bool{"a": true, "0z9": true, "": false, "A": false, "a.b": false, "a b": false, "é": false} {
		if err := ValidCodebaseID(id); (err == nil) != valid {
			t.Errorf("%q: %v", id, err)
		}
	}
}

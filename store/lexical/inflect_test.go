package lexical_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet/freshet/store/lexical"
)

func TestInflections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word string
		want []string
	}{
		{"batched", []string{"batch", "batches", "batching", "batcher"}},
		{"pooling", []string{"pool", "pools", "pooled"}},
		{"cache", []string{"caches", "cached", "caching"}},
		{"caching", []string{"cache", "cached"}},
		{"stopped", []string{"stop", "stopping", "stops"}},
		{"retries", []string{"retry", "retried", "retrying"}},
		{"connection", []string{"connect", "connected", "connections", "connector"}},
		{"configuration", []string{"configure", "configured"}},
		{"parser", []string{"parse", "parsing", "parsers"}},
		{"classes", []string{"class"}},
	} {
		got := lexical.Inflections(c.word)
		for _, form := range c.want {
			if !slices.Contains(got, form) {
				t.Errorf("%s has no form %s: %v", c.word, form, got)
			}
		}
	}
	for _, word := range []string{"", "is", "utf8", "größe", "x509", "h2"} {
		if got := lexical.Inflections(word); got != nil {
			t.Errorf("%q is inflected: %v", word, got)
		}
	}
}

func TestInflectionsAreDistinctAndFew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{3,12}(s|es|ed|ing|er|ion|ies|ation)?`).Draw(t, "word")
		got := lexical.Inflections(word)
		if len(got) > 120 {
			t.Errorf("%d forms of %s", len(got), word)
		}
		if slices.Contains(got, word) {
			t.Errorf("%s is a form of itself", word)
		}
		sorted := slices.Sorted(slices.Values(got))
		if len(slices.Compact(sorted)) != len(got) {
			t.Errorf("forms of %s repeat: %v", word, got)
		}
		if !slices.Equal(got, lexical.Inflections(word)) {
			t.Errorf("forms of %s differ from call to call", word)
		}
	})
}

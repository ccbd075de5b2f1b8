package lexical

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnalyze(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text string
		want       Query
	}{
		{"sentence", "how is the HTTPServer closed", Query{
			Words: []string{"http", "server", "closed"}, Identifiers: []string{"HTTPServer", "closed"}}},
		{"only stop words", "what is this", Query{Words: []string{"what", "is", "this"}}},
		{"empty", "  ", Query{}},
		{"plain word", "batch", Query{Words: []string{"batch"}, Identifiers: []string{"batch"},
			Symbol: true, Qualifiers: []string{}, Name: "batch"}},
		{"qualified", "Server.Close()", Query{Words: []string{"server", "close"},
			Identifiers: []string{"Server", "Close"}, Symbol: true, Qualifiers: []string{"Server"}, Name: "Close"}},
		{"rust path", "std::vec::Vec", Query{Words: []string{"std", "vec"},
			Identifiers: []string{"std", "vec", "Vec"}, Symbol: true, Qualifiers: []string{"std", "vec"}, Name: "Vec"}},
		{"ruby", "Foo#valid?", Query{Words: []string{"foo", "valid"},
			Identifiers: []string{"Foo", "valid"}, Symbol: true, Qualifiers: []string{"Foo"}, Name: "valid?"}},
		{"repeated", "read Read READ", Query{Words: []string{"read"}, Identifiers: []string{"read", "Read", "READ"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Analyze(c.text)); diff != "" {
				t.Errorf("Analyze(%q) (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestLooksLikeSymbol(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"close": false, "Close": false, "HTTP": false, "closeIdle": true, "close_idle": true,
		"_x": true, "sha256": true, "$el": true, "HTTPServer": true, "größe": false,
	} {
		if got := LooksLikeSymbol(name); got != want {
			t.Errorf("LooksLikeSymbol(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestPathWords(t *testing.T) {
	t.Parallel()
	cases := []struct {
		path        string
		words, stem []string
	}{
		{"pkg/http_client/retryPolicy.go", []string{"pkg", "http", "client", "retry", "policy", "go"}, []string{"retry", "policy"}},
		{".gitignore", []string{"gitignore"}, []string{"gitignore"}},
		{"a/Makefile", []string{"a", "makefile"}, []string{"makefile"}},
		{"x/client.test.ts", []string{"x", "client", "test", "ts"}, []string{"client", "test"}},
		{"", nil, nil},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.words, PathTokens(c.path)); diff != "" {
			t.Errorf("PathTokens(%q) (-want +got):\n%s", c.path, diff)
		}
		if diff := cmp.Diff(c.stem, StemTokens(c.path)); diff != "" {
			t.Errorf("StemTokens(%q) (-want +got):\n%s", c.path, diff)
		}
	}
}

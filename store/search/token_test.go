package search_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

func TestTokenRoundTrip(t *testing.T) {
	t.Parallel()
	for _, token := range []search.Token{
		{}, {Epoch: "e"}, {Epoch: "3f", Codebase: "abc9", Snapshot: 1 << 60, Root: merkle.Hash{1, 255}},
	} {
		word := token.String()
		if strings.ContainsAny(word, "+/=& ") {
			t.Errorf("%+v: %q is not URL-safe", token, word)
		}
		if got, err := search.ParseToken(word); err != nil || got != token {
			t.Errorf("%+v: got %+v, %v", token, got, err)
		}
	}
}

func TestParseTokenRefusesEveryChange(t *testing.T) {
	t.Parallel()
	word := search.Token{Epoch: "3f", Codebase: store.CodebaseID("abc9"), Snapshot: 7}.String()
	for i := range word {
		changed := word[:i] + "A" + word[i+1:]
		if changed == word {
			changed = word[:i] + "B" + word[i+1:]
		}
		for _, bad := range []string{changed, word[:i] + word[i+1:], word[:max(i, 1)]} {
			if _, err := search.ParseToken(bad); !errors.Is(err, search.ErrBadToken) {
				t.Fatalf("%q: error is %v, want ErrBadToken", bad, err)
			}
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(search.Token{Epoch: "3f", Codebase: "abc9", Snapshot: 7}.String())
	f.Add("ft1_AAAA")
	f.Fuzz(func(t *testing.T, word string) {
		token, err := search.ParseToken(word)
		if err == nil && token.String() != word {
			t.Fatalf("%q parses to the token of %q", word, token)
		}
	})
}

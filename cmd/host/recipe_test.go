package host

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
)

// version opens a session as another version of the binary would, with another recipe.
func version(t *testing.T, home string, amend func(*store.Recipe)) *Session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Connect(t.Context(), Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}, amend: amend})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	return s
}

// inquire searches once and returns the whole envelope, errors in it included.
func inquire(t *testing.T, s *Session, root, mode string) *tool.Envelope {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	envelope, err := s.Call(ctx, "search_codebase", map[string]any{"query": "Name7", "mode": mode, "codebase": root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// Promise 4: a change of the recipe fills a new snapshot in the background, unasked, while
// the old one serves with its label, or refuses when queries cannot be compared with it; no
// answer mixes the two.
func TestRecipeChangeFillsInTheBackground(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		field  string
		amend  func(*store.Recipe)
		serves bool // a hybrid search, from the old snapshot
	}{
		{"chunker", "chunker", func(r *store.Recipe) { r.Chunker = "another" }, true},
		{"ignore rules", "ignore_rules", func(r *store.Recipe) { r.IgnoreRules = "another" }, true},
		{"model", "embedding.model", func(r *store.Recipe) { r.Embedding.Model = "another" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home, root := t.TempDir(), tree(t)
			first := version(t, home, nil)
			must(t, first, "index", map[string]any{"path": root, "wait": true})
			before := must(t, first, "search", map[string]any{"query": "Name7", "codebase": root})
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second := version(t, home, c.amend)
			old, switched := 0, false
			for deadline := time.Now().Add(5 * time.Minute); !switched && time.Now().Before(deadline); {
				got := inquire(t, second, root, "hybrid")
				switch {
				case got.Error == nil && got.Freshness.Fingerprint == before.Freshness.Fingerprint:
					old++
					if !c.serves || got.State != tool.StateRequiresReindex || len(got.Freshness.Requires) != 1 || got.Freshness.Requires[0].Label != c.field {
						t.Fatalf("an answer of the old snapshot: state %s, requires %+v", got.State, got.Freshness.Requires)
					}
				case got.Error == nil:
					switched = true
					if len(got.Results) == 0 || len(got.Freshness.Requires) != 0 {
						t.Fatalf("an answer of the new snapshot: %d hits, requires %+v", len(got.Results), got.Freshness.Requires)
					}
				case got.Error.Code == tool.CodeRequiresReindex && !c.serves:
					old++
					if text := inquire(t, second, root, "text"); text.Error != nil || len(text.Results) == 0 {
						t.Fatalf("a search by words: %v", text.Error)
					}
				default:
					t.Fatalf("a search failed: %v", got.Error)
				}
			}
			if !switched {
				t.Fatalf("the new snapshot was not served, %d answers of the old one", old)
			}
		})
	}
}

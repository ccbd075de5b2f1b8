package pipeline_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/pgstore/pgtest"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/sqlitestore"
)

// TestStoresAgree replays every recorded history into each store. The digest is the
// committed one, and every query finds the same hits in the same order with the same
// scores.
func TestStoresAgree(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	files, err := filepath.Glob(filepath.Join(histories, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s: %v", histories, err)
	}
	digests := readDigests(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, err := history.Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			stores := everyStore(t, database, name)
			hits := map[string]map[string]search.Result{}
			for _, kind := range slices.Sorted(maps.Keys(stores)) {
				if got := replay(t, stores[kind], h, h.Events, false); got != digests[name] {
					t.Errorf("digest in %s is %s, committed %s", kind, got, digests[name])
				}
				hits[kind] = askAll(t, stores[kind])
			}
			found := 0
			for query, want := range hits["memory"] {
				found += len(want.Hits)
				for kind := range stores {
					if diff := cmp.Diff(want, hits[kind][query]); diff != "" {
						t.Errorf("%s: %s differs from memory (-memory +%s):\n%s", query, kind, kind, diff)
					}
				}
			}
			if found < 20 {
				t.Errorf("the queries find only %d hits", found)
			}
		})
	}
}

// everyStore opens one of each kind. Histories share a database as tenants.
func everyStore(t *testing.T, database, tenant string) map[string]store.Store {
	t.Helper()
	lite, err := sqlitestore.Open(t.Context(), t.TempDir(), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := pgstore.Open(t.Context(), database, pgstore.Options{Tenant: tenant})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]store.Store{"memory": memstore.New(memstore.Options{}), "sqlite": lite, "postgres": postgres}
	t.Cleanup(func() {
		for kind, s := range all {
			if err := s.Close(); err != nil {
				t.Errorf("close %s: %v", kind, err)
			}
		}
	})
	return all
}

// askAll searches every sealed codebase of a store in every mode.
func askAll(t *testing.T, s store.Store) map[string]search.Result {
	t.Helper()
	all, err := s.Codebases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	engine := search.New(s, builtin.New(), search.Options{})
	results := map[string]search.Result{}
	for _, c := range all {
		if c.Current == 0 {
			continue
		}
		view, err := s.View(t.Context(), c.ID, c.Current)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range search.Modes() {
			for _, text := range []string{"start the server and handle requests", "Start", "server.go", "render a page", "func|def|export"} {
				r, err := engine.Search(t.Context(), view, search.Query{Text: text, Mode: mode, Limit: 50, AllChunks: true, Explain: true})
				if err != nil {
					t.Fatalf("%s %q: %v", mode, text, err)
				}
				results[string(c.ID)+" "+string(mode)+" "+text] = r
			}
		}
	}
	return results
}

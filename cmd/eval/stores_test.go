package eval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/cmd/eval"
	"github.com/freshet/freshet/cmd/recipe"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/pgstore/pgtest"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/sqlitestore"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/scan"
)

// Another set of queries with its checkouts, in the form of testdata/eval, for
// TestRankingAgreesAcrossStores; the default is this project's own.
const (
	queriesEnv = "FRESHET_TEST_QUERIES"
	reposEnv   = "FRESHET_TEST_REPOS"
)

// inProcess cuts without children.
type inProcess struct{}

func (inProcess) Cut(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	return chunk.Cut(language, content), nil
}

// index indexes a tree into a store and returns what was sealed.
func index(t *testing.T, s store.Store, id store.CodebaseID, root string) store.View {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("index %s: %v", root, err)
		}
	}
	provider, bus, sealed := builtin.New(), membus.New(), make(chan store.Snapshot, 10)
	p := pipeline.New(pipeline.Parts{
		Store: s, Bus: bus, Recipe: recipe.Of(provider), Provider: provider, Cutter: inProcess{},
		Quarantine: chunk.Quarantine, Fallback: chunk.Fallback, TextThreshold: -1,
		OnSealed: func(snapshot store.Snapshot) { sealed <- snapshot },
	})
	identity, err := scan.Identity(root)
	must(err)
	_, err = s.Register(t.Context(), store.Codebase{ID: id, Name: string(id), Root: root, Identity: identity})
	must(err)
	_, err = p.Reconciler.Heal(t.Context())
	must(err)
	ctx, stop := context.WithCancel(t.Context())
	g, ctx := errgroup.WithContext(ctx)
	synchronizer := merklesync.New(s, id, merklesync.Options{Outbox: p.Outbox, Recipe: recipe.Of(provider)})
	g.Go(func() error { return p.Run(ctx) })
	g.Go(func() error { return synchronizer.Run(ctx) })
	defer func() {
		stop()
		_ = g.Wait()
		must(bus.Close())
	}()
	_, err = synchronizer.Check(ctx)
	must(err)
	select {
	case snapshot := <-sealed:
		view, err := s.View(ctx, id, snapshot.Number)
		must(err)
		return view
	case <-time.After(5 * time.Minute):
		t.Fatalf("index %s: not sealed in time", root)
	case <-ctx.Done():
		t.Fatalf("index %s: %v", root, g.Wait())
	}
	return store.View{}
}

// ownTree copies this project's code, which may be edited while a test runs.
func ownTree(t *testing.T) string {
	t.Helper()
	repos := t.TempDir()
	for _, folder := range []string{"mcp", "pipeline", "store", "sync"} {
		if err := os.CopyFS(filepath.Join(repos, "freshet", folder), os.DirFS(filepath.Join("..", "..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	return repos
}

// TestRankingAgreesAcrossStores: the queries of an evaluation find the same hits in the same
// order, with the same scores, in memory, in SQLite and in PostgreSQL.
func TestRankingAgreesAcrossStores(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	queries, repos := os.Getenv(queriesEnv), os.Getenv(reposEnv)
	if queries == "" {
		queries, repos = filepath.Join("..", "..", "testdata", "eval"), ownTree(t)
	}
	repositories, err := eval.Load(queries)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range repositories {
		t.Run(r.Name, func(t *testing.T) {
			root := filepath.Join(repos, r.Name, filepath.FromSlash(r.Root))
			lite, err := sqlitestore.Open(t.Context(), t.TempDir(), sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			postgres, err := pgstore.Open(t.Context(), database, pgstore.Options{Tenant: r.Name})
			if err != nil {
				t.Fatal(err)
			}
			want := answers(t, memstore.New(memstore.Options{}), root, r.Queries)
			for kind, s := range map[string]store.Store{"sqlite": lite, "postgres": postgres} {
				got := answers(t, s, root, r.Queries)
				for i, q := range r.Queries {
					if diff := cmp.Diff(want[i], got[i]); diff != "" {
						t.Errorf("%q in %s (-memory +%s):\n%s", q.Text, kind, kind, diff)
					}
				}
			}
		})
	}
}

// answers indexes a tree into a store, asks it, and closes it.
func answers(t *testing.T, s store.Store, root string, queries []eval.Query) []search.Result {
	t.Helper()
	view := index(t, s, "tree", root)
	engine := search.New(s, builtin.New(), search.Options{})
	results, found := make([]search.Result, len(queries)), 0
	for i, q := range queries {
		var err error
		results[i], err = engine.Search(t.Context(), view, search.Query{Text: q.Text, Limit: 50, Explain: true})
		if err != nil {
			t.Fatalf("%q: %v", q.Text, err)
		}
		found += len(results[i].Hits)
	}
	if err := errors.Join(engine.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if found < 10*len(queries) {
		t.Errorf("%d queries find only %d hits", len(queries), found)
	}
	return results
}

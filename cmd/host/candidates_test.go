package host

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// proposing is a store in PostgreSQL that counts the queries for which it had candidates.
type proposing struct {
	*pgstore.Store
	indexed  chan struct{} // after each snapshot
	proposed *atomic.Int64
}

func (p proposing) IndexCandidates(ctx context.Context, id store.CodebaseID, number uint64) error {
	err := p.Store.IndexCandidates(ctx, id, number)
	if err == nil {
		select {
		case p.indexed <- struct{}{}:
		default:
		}
	}
	return err
}

func (p proposing) Candidates(ctx context.Context, view store.View, query []float32, most int) ([]store.ChunkRef, bool, error) {
	near, ok, err := p.Store.Candidates(ctx, view, query, most)
	if ok && len(near) > 0 {
		p.proposed.Add(1)
	}
	return near, ok, err
}

// TestAnswersFromCandidates: a host whose store proposes candidates gives the answers of one
// that compares everything, for a snapshot that was indexed after its seal, and says the
// same of each hit.
func TestAnswersFromCandidates(t *testing.T) {
	t.Parallel()
	database, nats := pgtest.Database(t), clustertest.Start(t, 1)
	indexed, proposed := make(chan struct{}, 1), &atomic.Int64{}
	self, err := os.Executable()
	check(t, err)
	join := func(candidatesFrom int) *Session {
		t.Helper()
		session, err := Connect(t.Context(), Options{
			Home: t.TempDir(), Version: "test", ChunkCommand: []string{self, asChild}, Watch: true,
			Cluster: cluster.Settings{NATS: nats.URL(), Database: database, Place: "one"}, candidatesFrom: candidatesFrom,
			OpenStore: func(ctx context.Context) (store.Store, error) {
				s, err := pgstore.Open(ctx, database, pgstore.Options{CandidatesFrom: 50})
				return proposing{s, indexed, proposed}, err
			},
		})
		check(t, err)
		t.Cleanup(func() { check(t, session.Close()) })
		return session
	}
	root := t.TempDir()
	for i, word := range []string{"server", "client", "parser", "queue", "image"} {
		for n := range 40 {
			write(t, root, fmt.Sprintf("%s/part%d.go", word, n),
				fmt.Sprintf("package %s\n\n// Open%d opens a %s of %d.\nfunc Open%d() int { return %d }\n", word, n, word, i, n, n*i))
		}
	}
	near, exact := join(1), join(1<<30)
	must(t, near, "index", map[string]any{"path": root, "wait": true})
	deadline := time.After(5 * time.Minute)
	for _, filter := range []any{nil, []string{"server/**", "queue/**", "image/**"}} {
		for _, query := range []string{"open a queue", "parse", "image of a client"} {
			for proposed.Store(0); ; {
				ask := func(s *Session) *tool.Envelope {
					params := map[string]any{"query": query, "codebase": root, "limit": 10, "explain": true}
					if filter != nil {
						params["paths"] = filter
					}
					return must(t, s, "search", params)
				}
				got, want := ask(near), ask(exact)
				if len(want.Results) == 0 {
					t.Fatalf("%q finds nothing", query)
				}
				if diff := cmp.Diff(want.Results, got.Results); diff != "" {
					t.Errorf("%q: (-exact +candidates)\n%s", query, diff)
				}
				if proposed.Load() > 0 {
					break
				}
				select { // not indexed yet
				case <-indexed:
				case <-deadline:
					t.Fatal("the store proposed no candidates")
				}
			}
		}
	}
}

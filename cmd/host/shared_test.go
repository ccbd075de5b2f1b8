package host

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
)

// lent is a store that outlives those who close it, as one elsewhere does.
type lent struct{ store.Store }

func (lent) Close() error { return nil }

// site is a cluster with a store, which hosts of any place join.
type site struct {
	nats  *clustertest.Cluster
	store *memstore.Store
	log   *slog.Logger // of hosts that join; nil discards
}

func newSite(t *testing.T) *site {
	t.Helper()
	return &site{nats: clustertest.Start(t, 1), store: memstore.New(memstore.Options{})}
}

// join opens a session of a host on a place.
func (s *site) join(t *testing.T, place string, watch bool, roles []pipeline.Role) *Session {
	t.Helper()
	return s.joinThrough(t, place, watch, roles, lent{s.store})
}

// joinThrough opens a session of a host that has a store of its own choice.
func (s *site) joinThrough(t *testing.T, place string, watch bool, roles []pipeline.Role, through store.Store) *Session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	session, err := Connect(t.Context(), Options{
		Home: t.TempDir(), Version: "test", ChunkCommand: []string{self, asChild}, Watch: watch, Roles: roles,
		Cluster:   cluster.Settings{NATS: s.nats.URL(), Database: "lent", Place: place},
		OpenStore: func(context.Context) (store.Store, error) { return through, nil }, Log: s.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close the host on %s: %v", place, err)
		}
	})
	return session
}

// nothing is the roles of a host that leaves the work to others.
func nothing() []pipeline.Role { return []pipeline.Role{} }

// TestAnswersFromAnotherHost: a host that does not see a tree has it checked by the one that
// does, down to the files of its hits; when that one is gone it says so, and strict refuses.
func TestAnswersFromAnotherHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := tree(t)
	seeing := s.join(t, "one", true, nil)
	must(t, seeing, "index", map[string]any{"path": root, "wait": true})
	blind := s.join(t, "two", false, nothing())
	id := string(must(t, seeing, "status", map[string]any{"codebase": root}).Codebase.ID)

	search := func(word, mode string) *tool.Envelope {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		envelope, err := blind.Call(ctx, "search", map[string]any{
			"query": word, "mode": "text", "codebase": id, "freshness": mode, "max_wait_ms": 300_000,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	found := search("Name7", "strict")
	if found.Error != nil || found.Freshness.State != "current" {
		t.Fatalf("before the edit: %+v %v", found.Freshness, found.Error)
	}
	if hits := found.Results; len(hits) == 0 || !hits[0].Verified {
		t.Errorf("hits %+v", hits)
	}
	write(t, root, "new.go", "package pkg\n\n// Quagga is new.\nfunc Quagga() {}\n")
	if found := search("Quagga", "verified"); len(found.Results) == 0 ||
		(found.Freshness.State != "caught_up" && found.Freshness.State != "current") {
		t.Errorf("after the edit: %d hits, %+v", len(found.Results), found.Freshness)
	}

	if err := seeing.Close(); err != nil {
		t.Fatal(err)
	}
	silent, err := blind.Call(t.Context(), "search", map[string]any{"query": "Quagga", "mode": "text", "codebase": id, "max_wait_ms": 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if silent.Freshness.State != "unknown" || !strings.Contains(silent.Freshness.Reason, "silent") {
		t.Errorf("a silent synchronizer: %+v", silent.Freshness)
	}
	strict, err := blind.Call(t.Context(), "search", map[string]any{"query": "Quagga", "codebase": id, "freshness": "strict", "max_wait_ms": 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strict.Error == nil || strict.Error.Code != tool.CodeStaleTimeout {
		t.Errorf("strict: %v", strict.Error)
	}
}

// TestSynchronizerIsTakenOver: two hosts of one place follow one tree; one synchronizes it,
// and when it ends the other does, within seconds.
func TestSynchronizerIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := tree(t)
	first := s.join(t, "one", true, nil)
	must(t, first, "index", map[string]any{"path": root, "wait": true})
	second := s.join(t, "one", true, nil)
	if _, state := find(t, second, root, "Name3"); state != "current" {
		t.Errorf("asked of the first by the second: %s", state)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, root, "new.go", "package pkg\n\n// Okapi is new.\nfunc Okapi() {}\n")
	paths, state := find(t, second, root, "Okapi")
	if !strings.Contains(paths, "new.go") || (state != "caught_up" && state != "current") {
		t.Errorf("after the takeover: %q %s", paths, state)
	}
}

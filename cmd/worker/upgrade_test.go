package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/cmd/recipe"
	"github.com/freshet/freshet/cmd/worker"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
)

// hostOf joins a host of another version, whose recipe is that of its provider.
func (s *site) hostOf(place string, provider *counting) *host.Session {
	s.t.Helper()
	session, err := host.Connect(s.t.Context(), host.Options{
		Home: s.t.TempDir(), Version: "next", ChunkCommand: s.self(), Watch: true, Roles: []pipeline.Role{},
		Cluster: s.settings(place), OpenStore: s.open,
		Provider: func(context.Context, string) (embedding.Querier, error) { return provider, nil },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := session.Close(); err != nil {
			s.t.Errorf("close host: %v", err)
		}
	})
	return session
}

// TestUpgrade: hosts and workers of two versions, whose recipes differ, share a codebase.
// While the old ones are there its edits are found, and the new host says what it lacks;
// when they are gone the new ones make the index theirs, and embed everything once.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	next := &counting{Provider: builtin.New(), model: "next"}
	_, stopOld := s.worker(worker.Options{})
	root := s.tree(30)
	old := s.host("one")
	s.call(old, "index", map[string]any{"path": root, "wait": true})
	before := s.provider.texts.Load()

	s.worker(worker.Options{Provider: next})
	upgraded := s.hostOf("one", next)
	for i := range 5 {
		word := fmt.Sprintf("Numbat%d", i)
		s.write(root, "edit.go", fmt.Sprintf("package p\n\n// %s was not here.\nfunc %s() {}\n", word, word))
		found := s.call(old, "search", map[string]any{"query": word, "mode": "text", "codebase": root, "max_wait_ms": 300_000})
		if len(found.Results) == 0 || found.Results[0].FilePath != "edit.go" || !found.Results[0].Verified {
			t.Errorf("the old host: %+v, %+v", found.Results, found.Freshness)
		}
		s.labelled(upgraded, root, found.Freshness.Fingerprint)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	stopOld()
	s.call(upgraded, "index", map[string]any{"path": root, "wait": true})
	found := s.call(upgraded, "search", map[string]any{"query": "Numbat4", "codebase": root, "freshness": "strict", "max_wait_ms": 300_000})
	if want := recipe.Of(next).Fingerprint(); len(found.Results) == 0 || found.Freshness.Fingerprint != want {
		t.Errorf("the new host: %d results, %+v; want recipe %s", len(found.Results), found.Freshness, want.Short())
	}
	if got := next.texts.Load(); got != before+1 { // those of the files, and the last of the edits
		t.Errorf("the new workers embedded %d texts, the old ones %d before the edits", got, before)
	}
	if v := s.call(upgraded, "verify", map[string]any{"codebase": root}); !v.Equal {
		t.Errorf("the index differs from a clean rebuild: %+v", v.Verification)
	}
}

// labelled checks that a host does not pass off a snapshot of another recipe as its own.
func (s *site) labelled(on *host.Session, root string, of store.Fingerprint) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	got, err := on.Call(ctx, "search", map[string]any{"query": "Numbat", "codebase": root}, nil)
	switch {
	case err != nil:
		s.t.Error(err)
	case got.Error != nil && got.Error.Code != tool.CodeRequiresReindex:
		s.t.Errorf("the new host: %v", got.Error)
	case got.Error == nil && got.Freshness.Fingerprint == of && len(got.Freshness.Requires) == 0:
		s.t.Errorf("the new host serves an index of another recipe without a label: %+v", got.Freshness)
	}
}

// TestNewerEventsAreLeft: events of a version that no worker here knows are neither lost
// among the dead letters nor in the way of others.
func TestNewerEventsAreLeft(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.worker(worker.Options{})
	root := s.tree(5)
	on := s.host("one")
	id := s.call(on, "index", map[string]any{"path": root, "wait": true}).Codebase.ID
	log, err := natsbus.Open(t.Context(), natsbus.Options{URL: s.nats.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	own := recipe.Of(s.provider).Fingerprint()
	for i, lane := range []bus.Lane{bus.LaneSync, bus.LaneChunk, bus.LaneEmbed, bus.LaneApply} {
		for j, head := range []string{`"version":7,"type":"files.changed"`, `"version":1,"type":"files.painted"`} {
			data := fmt.Sprintf(`{%s,"codebase":%q,"snapshot":1,"fingerprint":%q,"news":[1]}`, head, id, own)
			m := bus.Message{Codebase: id, Lane: lane, ID: fmt.Sprintf("newer/%d/%d", i, j), Data: []byte(data)}
			if _, err := log.Publish(t.Context(), []bus.Message{m}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.write(root, "edit.go", "package p\n\n// Bilby was not here.\nfunc Bilby() {}\n")
	found := s.call(on, "search", map[string]any{"query": "Bilby", "mode": "text", "codebase": root, "max_wait_ms": 300_000})
	if len(found.Results) == 0 || found.Freshness.State == "behind" {
		t.Errorf("an edit among them: %+v", found.Freshness)
	}
	if letters := s.call(on, "dead-letters", map[string]any{"action": "list"}).DeadLetters; len(*letters) > 0 {
		t.Errorf("dead letters: %+v", *letters)
	}
}

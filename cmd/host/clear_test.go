package host

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// TestClearLeavesNothing: after clear and gc over a cluster no row of any table and no
// subject of the log names the codebase, what was its alone is gone, and what it shared
// with another still serves that one.
func TestClearLeavesNothing(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	settings := cluster.Settings{
		NATS: clustertest.Start(t, 1).URL(), Database: database, Role: "freshet_test_app", Place: "here",
	}
	self, err := os.Executable()
	check(t, err)
	session, err := Connect(t.Context(), Options{
		Home: t.TempDir(), Version: "test", ChunkCommand: []string{self, asChild}, Cluster: settings,
	})
	check(t, err)
	closing := true
	defer func() {
		if closing {
			check(t, session.Close())
		}
	}()
	kept, gone := tree(t), tree(t)
	write(t, gone, "only/here.go", "package only\n\n// Quetzal is only here.\nfunc Quetzal() {}\n")
	must(t, session, "index", map[string]any{"path": kept, "wait": true})
	_, before := pgtest.Mentions(t, database, "nothing")
	must(t, session, "index", map[string]any{"path": gone, "wait": true})
	id := must(t, session, "status", map[string]any{"codebase": gone}).Codebase.ID
	list, proof := proofScripts(t, string(id))
	pgtest.Psql(t, database, list)
	finds(t, pgtest.Psql(t, database, proof))
	must(t, session, "clear", map[string]any{"codebase": gone, "confirm": string(id)})
	must(t, session, "gc", nil)

	if remains := pgtest.Psql(t, database, proof); len(remains) > 0 {
		t.Errorf("the proof of docs/operations.md finds %v", remains)
	}
	pgtest.Psql(t, database, "DROP SCHEMA freshet_proof CASCADE;")
	for _, text := range []string{string(id), gone, "here.go", "Quetzal"} {
		if named, _ := pgtest.Mentions(t, database, text); len(named) > 0 {
			t.Errorf("%q is still named by rows of %v", text, named)
		}
	}
	_, after := pgtest.Mentions(t, database, "nothing")
	for _, table := range []string{"contents", "syntaxes", "vectors", "embedded", "segments", "segment_parts", "manifest", "stats", "snapshots", "codebases", "outbox"} {
		merged := strings.HasPrefix(table, "segment") && after[table] < before[table] // those of the other codebase, meanwhile
		if after[table] != before[table] && !merged {
			t.Errorf("%s has %d rows, and had %d before", table, after[table], before[table])
		}
	}
	if paths, _ := find(t, session, kept, "Name7"); paths == "" {
		t.Error("the other codebase finds nothing any more")
	}
	closing = false
	check(t, session.Close())
	parts, err := cluster.Open(t.Context(), settings, cluster.Options{})
	check(t, err)
	held, err := parts.Bus.MessageCounts(t.Context())
	check(t, err)
	if n := held[id]; n != 0 {
		t.Errorf("the log holds %d messages of it: %v", n, held)
	}
	state, err := parts.Bus.State(t.Context())
	check(t, err)
	if state.Gap || len(held) == 0 {
		t.Errorf("what was purged looks lost: %+v", state)
	}
	check(t, parts.Close())
}

// proofScripts are the two of docs/operations.md, for a codebase.
func proofScripts(t *testing.T, id string) (list, proof string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	check(t, err)
	_, section, _ := strings.Cut(string(text), "\n### Remove a codebase, with proof\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var scripts []string
	for _, m := range regexp.MustCompile("(?s)\n```sql\n(.*?)\n```").FindAllStringSubmatch(section, -1) {
		if !strings.HasPrefix(m[1], `\set id 'c...'`) {
			t.Errorf("a script that names no codebase: %s", m[1])
		}
		scripts = append(scripts, strings.Replace(m[1], "c...", id, 1)+"\n")
	}
	if len(scripts) != 2 {
		t.Fatalf("docs/operations.md has %d scripts", len(scripts))
	}
	return scripts[0], scripts[1]
}

// finds checks that the proof finds what every codebase has.
func finds(t *testing.T, lines []string) {
	t.Helper()
	rows := map[string]int{}
	for _, line := range lines {
		table, count, _ := strings.Cut(line, "|")
		n, err := strconv.Atoi(count)
		check(t, err)
		rows[table] = n
	}
	for _, table := range []string{
		"codebases", "snapshots", "manifest", "stats", "segments", "contents", "syntaxes", "embedded", "vectors", "segment_parts",
	} {
		if rows[table] == 0 {
			t.Errorf("the proof of docs/operations.md finds no %s before: %v", table, rows)
		}
	}
}

// TestPurgesTakeTurns: several processes that purge one log at once leave it whole.
func TestPurgesTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var sessions []*Session
	var ids []string
	for i := range 3 {
		session := s.join(t, string(rune('a'+i)), false, nil)
		root := tree(t)
		must(t, session, "index", map[string]any{"path": root, "wait": true})
		id := string(must(t, session, "status", map[string]any{"codebase": root}).Codebase.ID)
		sessions, ids = append(sessions, session), append(ids, id)
	}
	done := make(chan struct{})
	for i, session := range sessions {
		go func() {
			defer func() { done <- struct{}{} }()
			must(t, session, "clear", map[string]any{"codebase": ids[i], "confirm": ids[i]})
		}()
	}
	for range sessions {
		<-done
	}
	host, err := sessions[0].hosting()
	check(t, err)
	state, err := host.bus.State(t.Context())
	check(t, err)
	if state.Gap {
		t.Errorf("what was purged looks lost: %+v", state)
	}
}

package sqlitestore

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest"
	"github.com/freshet/freshet/sync/merkle"
)

var makeFixture = flag.String("fixture", "", "write the store that migrations are tested on, as this version makes it, to this directory")

// fixtureTime is when the first row of the fixture was made, fixtureEnd when the last was.
var (
	fixtureTime = time.Date(2026, 11, 1, 12, 0, 0, 345, time.UTC)
	fixtureEnd  = fixtureTime.Add(3*time.Hour + 2*time.Minute)
)

func fixtureText(n int) store.Content {
	data := fmt.Appendf(nil, "text %d of the fixture", n)
	return store.Content{Hash: sha256.Sum256(data), Data: data}
}

func fixtureRecipe(model string) store.Recipe {
	return store.Recipe{
		Schema: 1, Tokenizer: "1", Chunker: "c1", IgnoreRules: "1", Grammars: map[string]string{"Go": "g1"},
		Embedding: store.EmbeddingRecipe{Provider: "test", Model: model, Dimension: 4, Normalization: "l2"},
	}
}

// TestMakeFixture fills a store with rows of every kind in every state that they have.
func TestMakeFixture(t *testing.T) {
	if *makeFixture == "" {
		t.Skip("asked for with -fixture")
	}
	ctx := t.Context()
	now := fixtureTime
	s, err := Open(ctx, *makeFixture, Options{Now: func() time.Time { return now }})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	entry := func(path string, n int) store.FileEntry {
		c := fixtureText(n)
		return store.FileEntry{Path: path, Content: c.Hash, Size: int64(len(c.Data)), Language: "Go"}
	}
	open := func(id store.CodebaseID, number uint64, o store.Opening, texts ...int) {
		t.Helper()
		o.Codebase, o.Number, o.Parent, o.At = id, number, number-1, now
		o.Root = fixtureText(int(number) + 100).Hash
		o.Rebuild = o.Rebuild || number == 1
		for _, n := range texts {
			o.Contents = append(o.Contents, fixtureText(n))
		}
		if o.Recipe.Chunker == "" {
			o.Recipe = fixtureRecipe("m1")
		}
		o.Events = []store.OutboxEvent{
			{Codebase: id, Snapshot: number, Part: 0, Data: []byte("opened")}, {Codebase: id, Snapshot: number, Part: 1, Data: []byte{0, 255}},
		}
		_, err := s.Open(ctx, o)
		must(err)
	}
	_, err = s.Register(ctx, store.Codebase{ID: "a", Name: "first", Root: "/src/a\xff", Identity: store.RootIdentity{Device: 1 << 63, Inode: 7}})
	must(err)
	_, err = s.Register(ctx, store.Codebase{ID: "b", Name: "second", Place: "host", Root: "/src/b"})
	must(err)
	must(s.SetFailure(ctx, "b", "the disk said \x00 no"))

	first := store.Opening{Ref: "main"}
	first.Upserts = []store.FileEntry{entry("x", 1), entry("d/y", 2), entry("\xff z", 3), entry("gone", 4), entry("", 5)}
	first.Upserts[1].Flags, first.Upserts[1].Language = store.FlagTest|store.FlagDocs, ""
	first.Stats = []store.StatEntry{
		{Path: "", Dir: true, XX: 1 << 63, Stat: store.Stat{Mode: 1 << 31}},
		{Path: "x", XX: 9, Content: fixtureText(1).Hash, Language: "Go", Stat: store.Stat{Size: 1 << 40, MtimeNs: -5, CtimeNs: 1 << 62, Device: 1 << 63, Inode: 1<<64 - 1, Mode: 0o100644}},
		{Path: ".env\xfe", LeftOut: store.LeftOutSecret, Racy: true, Flags: store.FlagVendored},
	}
	open("a", 1, first, 1, 2, 3, 4, 5)
	must(storetest.Finish(ctx, s, "a", 1))
	g1, err := s.PutSegment(ctx, "a", 5, 9, []byte("first segment"))
	must(err)
	must(s.Seal(ctx, store.Seal{Codebase: "a", Number: 1, Level: store.LevelText, At: now, Segments: []store.SegmentID{g1}}))
	must(s.Seal(ctx, store.Seal{Codebase: "a", Number: 1, Level: store.LevelFull, At: now, Segments: []store.SegmentID{g1}}))

	now = now.Add(time.Minute)
	second := store.Opening{Removes: []string{"gone", "never"}}
	second.Upserts = []store.FileEntry{entry("x", 6), entry("new", 4)}
	second.Upserts[1].RenamedFrom = "gone"
	open("a", 2, second, 6)
	must(storetest.Finish(ctx, s, "a", 2))
	g2, err := s.PutSegment(ctx, "a", 2, 3, []byte("second segment"))
	must(err)
	must(s.Seal(ctx, store.Seal{Codebase: "a", Number: 2, Level: store.LevelFull, At: now, Segments: []store.SegmentID{g1, g2}, Dead: map[store.SegmentID][]uint32{g1: {0, 3}}}))
	must(s.SetPinned(ctx, "a", 1, true))

	now = now.Add(time.Minute)
	open("a", 3, store.Opening{Upserts: []store.FileEntry{entry("x", 7)}, Removes: []string{"d/y"}}, 7)
	must(s.Abandon(ctx, "a", 3))
	open("a", 4, store.Opening{Upserts: []store.FileEntry{entry("x", 8)}, Removes: []string{"new"}}, 8)
	_, err = s.RecordFailure(ctx, store.Failure{Codebase: "a", Path: "x", Content: fixtureText(8).Hash, Stage: store.StageChunk,
		Version: fixtureRecipe("m1").SyntaxVersion("Go"), Reason: "cannot be parsed", At: now}, true, nil)
	must(err)
	must(s.Seal(ctx, store.Seal{Codebase: "a", Number: 4, Level: store.LevelFull, At: now, Segments: []store.SegmentID{g1, g2}, Dead: map[store.SegmentID][]uint32{g1: {1}, g2: {0, 1}}}))
	now = now.Add(3 * time.Hour)
	_, err = s.Collect(ctx, store.Retention{Keep: 1})
	must(err)
	open("a", 5, store.Opening{Upserts: []store.FileEntry{entry("x", 9), entry("w", 10)}, Recipe: fixtureRecipe("m2"), Rebuild: true}, 9, 10)
	_, err = s.RecordFailure(ctx, store.Failure{Codebase: "a", Path: "w", Content: fixtureText(10).Hash, Stage: store.StageEmbed,
		Version: fixtureRecipe("m2").Embedding.Key(), Reason: "no\x00answer", At: now}, false, nil)
	must(err)
	open("b", 1, store.Opening{}, 11)
	must(s.MarkPublished(ctx, []store.OutboxEvent{{Codebase: "a", Snapshot: 1}}, store.LogPosition{Incarnation: "first", Sequence: 1<<64 - 1}))
	must(s.PutSession(ctx, store.Session{ID: "agent", Until: fixtureTime.AddDate(100, 0, 0), Body: []byte{1, 0, 2}}))
	_, err = s.Acquire(ctx, "sync/a", "one", time.Hour)
	must(err)
	_, err = s.Acquire(ctx, "keep", "other", time.Hour)
	must(err)
	must(s.Release(ctx, store.Lease{Name: "keep", Holder: "other", Token: 1}))
	must(s.Check(ctx))
	dump := everything(t, s)
	must(s.Close())
	must(os.WriteFile(filepath.Join(*makeFixture, "dump.json"), dump, 0o600))
}

// everything is all that a reader sees of the fixture.
func everything(t *testing.T, s *Store) []byte {
	t.Helper()
	ctx := t.Context()
	var lines []string
	put := func(what string, value any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		lines = append(lines, fmt.Sprintf("%s: %+q", what, fmt.Sprintf("%+v", value)))
	}
	codebases, err := s.Codebases(ctx)
	put("epoch", s.Epoch(), nil)
	put("codebases", codebases, err)
	var keys []store.SyntaxKey
	var hashes, texts []merkle.Hash
	for n := 1; n <= 11; n++ {
		h := fixtureText(n).Hash
		hashes = append(hashes, h)
		keys = append(keys, store.SyntaxKey{Content: h, Version: fixtureRecipe("m1").SyntaxVersion("Go")}, store.SyntaxKey{Content: h, Version: fixtureRecipe("m1").SyntaxVersion("")})
		data, err := s.Content(ctx, h)
		if !errors.Is(err, store.ErrNotFound) {
			put(fmt.Sprint("content ", n), len(data), err)
		}
	}
	has, err := s.HasContents(ctx, hashes)
	put("has contents", has, err)
	syntaxes, err := s.Syntax(ctx, keys)
	put("syntaxes", syntaxes, err)
	for _, k := range keys {
		for _, chunk := range syntaxes[k].Chunks {
			texts = append(texts, chunk.TextHash)
		}
	}
	for _, model := range []string{"m1", "m2"} {
		r, err := s.Recipe(ctx, fixtureRecipe(model).Fingerprint())
		put("recipe "+model, r, err)
		embedding := r.Embedding.Key()
		vectors, err := s.Vectors(ctx, embedding, texts)
		put("vectors "+model, vectors, err)
		marks, err := s.HasEmbedded(ctx, embedding, keys)
		put("marks "+model, marks, err)
	}
	for _, c := range codebases {
		one, err := s.Codebase(ctx, c.ID)
		put("codebase", one, err)
		all, err := s.Snapshots(ctx, c.ID)
		put("snapshots", all, err)
		for _, n := range all {
			dumpRetained(ctx, s, n, put)
		}
		for e, err := range s.Stats(ctx, c.ID) {
			put("stat", e, err)
		}
		failures, err := s.Failures(ctx, c.ID)
		put("failures", failures, err)
	}
	events, err := s.Outbox(ctx, 100)
	put("outbox", events, err)
	at, err := s.LogPosition(ctx)
	put("log position", at, err)
	session, err := s.Session(ctx, "agent")
	put("session", session, err)
	for _, name := range []string{"sync/a", "keep"} {
		lease, err := s.Acquire(ctx, name, "one", time.Hour)
		put("lease "+name, lease, err)
	}
	usage, err := s.Usage(ctx)
	usage.DirectoryUsed = 0
	put("usage", usage, err)
	out, err := json.MarshalIndent(lines, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func dumpRetained(ctx context.Context, s *Store, n store.Snapshot, put func(what string, value any, err error)) {
	name := fmt.Sprint(n.Codebase, " ", n.Number, " ")
	for f, err := range s.Manifest(ctx, n.Codebase, n.Number) {
		put(name+"file", f, err)
	}
	upserted, removed, err := s.Delta(ctx, n.Codebase, n.Number)
	put(name+"delta", []any{upserted, removed}, err)
	pending, err := s.Pending(ctx, n.Codebase, n.Number, fixtureRecipe("m1"))
	put(name+"pending", pending, err)
	view, err := s.View(ctx, n.Codebase, n.Number)
	if n.Level == store.LevelOpen {
		return
	}
	put(name+"view", view, err)
	for _, ref := range view.Segments {
		segment, err := s.OpenSegment(ctx, ref.ID)
		if err != nil {
			put(name+"segment", nil, err)
			return
		}
		data := string(segment.Bytes())
		put(name+"segment", data, segment.Close())
	}
}

// fixture unpacks the store that an earlier version of the schema made.
func fixture(t *testing.T, name string) (dir string, dump []byte) {
	t.Helper()
	dir = t.TempDir()
	archive, err := zip.OpenReader(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		if f.Name == "dump.json" {
			dump = data
			continue
		}
		path := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, dump
}

// TestMigratesVersion2 opens a store of version 2 of the schema, in which most rows were
// sealed blobs: everything that it held is there.
func TestMigratesVersion2(t *testing.T) {
	t.Parallel()
	dir, want := fixture(t, "version2.zip")
	for range 2 { // once to migrate, once to find it migrated
		s := openAt(t, dir, func() time.Time { return fixtureEnd })
		if diff := cmp.Diff(string(want), string(everything(t, s))); diff != "" {
			t.Fatalf("after the migration (-before +after):\n%s", diff)
		}
		if err := errors.Join(s.Check(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMigratesDamagedRows damages one row of every table of version 2. The store opens all
// the same, and what was damaged is reported and not served.
func TestMigratesDamagedRows(t *testing.T) {
	t.Parallel()
	for table, where := range map[string]string{
		"meta": "name = 'log position'", "codebases": "id = 'a'", "snapshots": "number = 4", "manifest": "path = x'78' AND first = 4",
		"stats": "path = x'78'", "segments": "id = 2", "dead": "since = 4 AND segment = 1", "failures": "path = x'78'",
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			dir, want := fixture(t, "version2.zip")
			db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, fileName))
			if err != nil {
				t.Fatal(err)
			}
			result, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET body = substr(body, 1, length(body) - 1) || x'99' WHERE "+where)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			if n, err := result.RowsAffected(); err != nil || n != 1 {
				t.Fatalf("%d rows were damaged (%v)", n, err)
			}
			s, err := Open(t.Context(), dir, Options{Now: func() time.Time { return fixtureEnd }})
			if table == "meta" || table == "segments" { // which every open reads
				if !errors.Is(err, store.ErrCorrupt) {
					t.Fatalf("opened with %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("check says %v", err)
			}
			if _, err := s.Collect(t.Context(), store.Retention{Keep: 1}); table == "manifest" && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("a collection went by a damaged manifest: %v", err)
			}
			if table != "codebases" {
				return
			}
			all, err := s.Codebases(t.Context())
			if err != nil || len(all) != 2 || !strings.Contains(all[0].Failure+all[1].Failure, repairAdvice) {
				t.Errorf("codebases are %+v (%v), before %s", all, err, want[:80])
			}
		})
	}
}

// TestReadsVersion2WithoutOpening: what looks at a store without opening it says nothing
// wrong of one that waits for its migration, and leaves it as it is.
func TestReadsVersion2WithoutOpening(t *testing.T) {
	t.Parallel()
	dir, _ := fixture(t, "version2.zip")
	before, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := Examine(t.Context(), dir); err != nil {
		t.Errorf("examine: %v", err)
	}
	if at, err := LogPosition(t.Context(), dir); err != nil || at != (store.LogPosition{}) {
		t.Errorf("log position is %v (%v)", at, err)
	}
	after, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a look wrote (%v)", err)
	}
}

// TestSalvagesVersion2 takes registrations and vectors out of a store that was never
// migrated.
func TestSalvagesVersion2(t *testing.T) {
	t.Parallel()
	dir, _ := fixture(t, "version2.zip")
	s := openAt(t, t.TempDir(), nil)
	done, err := s.Salvage(t.Context(), dir)
	if err != nil || done.Codebases != 2 || done.Vectors != 15 {
		t.Fatalf("salvaged %+v (%v)", done, err)
	}
	c, err := s.Codebase(t.Context(), "b")
	if err != nil || c.Root != "/src/b" || c.Place != "host" || c.Name != "second" {
		t.Errorf("codebase is %+v (%v)", c, err)
	}
}

// TestSnapshotIsReadBySQL reads the files and segments of a snapshot with nothing but SQL,
// and has the constraints refuse what no snapshot is.
func TestSnapshotIsReadBySQL(t *testing.T) {
	t.Parallel()
	dir, _ := fixture(t, "version2.zip")
	s := openAt(t, dir, func() time.Time { return fixtureEnd })
	var got string
	err := s.view(t.Context(), func(c *session) error {
		_, err := c.one(`SELECT group_concat(path || ' ' || size, ', ' ORDER BY path) || '; segments ' || max(segments) || '; dead ' || (SELECT count(*) FROM dead
				JOIN json_each(n.segments) AS g ON g.value = segment, json_each(ordinals) WHERE since <= n.number)
			FROM snapshots AS n JOIN codebases AS c ON c.key = n.codebase JOIN manifest AS m ON m.codebase = c.key
			WHERE c.id = 'a' AND n.number = 4 AND first <= n.number AND last > n.number`, nil, &got)
		return err
	})
	if want := " 21, x 21, \xff z 21; segments [1,2]; dead 5"; err != nil || got != want {
		t.Errorf("read %q (%v), want %q", got, err, want)
	}
	for _, statement := range []string{
		"UPDATE snapshots SET level = 3", "UPDATE snapshots SET root = x'00'", "UPDATE snapshots SET segments = '{}'", "UPDATE snapshots SET files = 'many'",
		"UPDATE manifest SET last = first", "UPDATE manifest SET content = x'00' WHERE content IS NOT NULL", "UPDATE codebases SET current = latest + 1",
		"UPDATE stats SET dir = 2", "UPDATE segments SET files = -1", "UPDATE dead SET ordinals = 1", "UPDATE failures SET parked = 7",
	} {
		if err := s.write(t.Context(), func(c *session) error { return c.exec(statement) }); err == nil {
			t.Errorf("%s: no constraint refused it", statement)
		}
	}
}

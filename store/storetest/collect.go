package storetest

import (
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// numbers lists the retained snapshots, newest first.
func (e *env) numbers(id store.CodebaseID) []uint64 {
	e.t.Helper()
	all, err := e.s.Snapshots(e.ctx, id)
	e.ok(err)
	var numbers []uint64
	for _, n := range all {
		numbers = append(numbers, n.Number)
	}
	return numbers
}

func (e *env) collect(r store.Retention) store.Collected {
	e.t.Helper()
	got, err := e.s.Collect(e.ctx, r)
	e.ok(err)
	return got
}

// held says which of the texts the store has as contents.
func (e *env) held(texts ...string) (held []string) {
	e.t.Helper()
	for _, text := range texts {
		has, err := e.s.HasContents(e.ctx, []merkle.Hash{hashOf(text)})
		e.ok(err)
		if has[hashOf(text)] {
			held = append(held, text)
		}
	}
	return held
}

func testCollectRetention(t *testing.T, e *env) {
	id := e.register("a")
	e.same("nothing to collect", e.collect(store.Retention{}), store.Collected{})
	for _, text := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		e.step(id, edit{put: map[string]string{"x": text}})
		e.clock.advance(time.Hour)
	}
	e.open(id, edit{put: map[string]string{"x": "8"}})
	e.ok(e.s.Abandon(e.ctx, id, 8))
	e.open(id, edit{put: map[string]string{"x": "9"}})
	e.ok(e.s.SetPinned(e.ctx, id, 2, true))
	e.ok(e.s.SetCurrent(e.ctx, id, 3))
	e.collect(store.Retention{Keep: 20})
	e.same("all are among the newest", len(e.numbers(id)), 9)
	e.collect(store.Retention{Since: e.clock.now().Add(-2 * time.Hour).Add(-1)})
	e.same("since two hours ago", e.numbers(id), []uint64{9, 7, 6, 3, 2})
	e.collect(store.Retention{Keep: 1})
	e.same("latest, its base, current, pinned", e.numbers(id), []uint64{9, 7, 3, 2})
	e.seal(id, 9)
	e.ok(e.s.SetPinned(e.ctx, id, 2, false))
	e.collect(store.Retention{})
	e.same("latest and current are one", e.numbers(id), []uint64{9})
	_, err := e.s.View(e.ctx, id, 7)
	e.is(err, store.ErrNotFound)
	e.is(e.s.SetCurrent(e.ctx, id, 7), store.ErrNotFound)
	e.same("manifest that is left", e.manifest(id, 9), []store.FileEntry{file("x", "9")})
}

// testCollectThinned: of what is older than a time only the newest of each span stays, with
// its files, and segments that only the others had go.
func testCollectThinned(_ *testing.T, e *env) {
	id := e.register("a")
	e.clock.advance(e.clock.now().Truncate(time.Hour).Add(time.Hour).Sub(e.clock.now())) // to a full hour
	for number := range 12 {
		text := string(rune('a' + number))
		n := e.open(id, edit{put: map[string]string{"x": text}})
		e.seal(id, n.Number, e.segment(id, 1, text))
		e.clock.advance(10 * time.Minute)
	}
	e.ok(e.s.SetPinned(e.ctx, id, 2, true))
	e.clock.advance(2 * store.CollectGrace)
	now := e.clock.now()
	r := store.Retention{Keep: 1, Since: now.Add(-24 * time.Hour), Thin: []store.Thinning{{Before: now.Add(-2*time.Hour - 30*time.Minute), Every: time.Hour}}}
	want := []uint64{12, 11, 10, 9, 6, 2}
	got := e.collect(r)
	e.same("retained", e.numbers(id), want)
	e.same("collected", []int{got.Snapshots, got.Contents, got.Segments}, []int{6, 6, 6})
	for _, number := range want {
		text := string(rune('a' + number - 1))
		e.same("manifest", e.manifest(id, number), []store.FileEntry{file("x", text)})
		opened, err := e.s.OpenSegment(e.ctx, e.view(id, number)[0].ID)
		e.ok(err)
		e.same("segment", string(opened.Bytes()), text)
		e.ok(opened.Close())
	}
	e.same("a second time", e.collect(r), store.Collected{})
}

func testCollectReachability(t *testing.T, e *env) {
	id := e.register("a")
	for _, text := range []string{"aa", "bb", "aa", "cc"} {
		n := e.open(id, edit{put: map[string]string{"x": text, "same": "dd"}})
		e.process(text)
		e.seal(id, n.Number, e.segment(id, 1, "segment "+text))
	}
	segments := e.view(id, 3)
	e.ok(e.s.SetPinned(e.ctx, id, 3, true))
	e.clock.advance(2 * store.CollectGrace)
	got := e.collect(store.Retention{})
	e.same("collected", got, store.Collected{Snapshots: 2, Contents: 1, Syntaxes: 1, Vectors: 1, Segments: 2, Bytes: 2 + 2*int64(len("segment aa"))})
	e.same("contents", e.held("aa", "bb", "cc", "dd"), []string{"aa", "cc", "dd"})
	has, err := e.s.HasSyntax(e.ctx, []store.SyntaxKey{key("aa"), key("bb"), key("cc")})
	e.ok(err)
	e.same("syntaxes", has, map[store.SyntaxKey]bool{key("aa"): true, key("cc"): true})
	e.same("segments of the pinned one", e.view(id, 3), segments)
	opened, err := e.s.OpenSegment(e.ctx, segments[0].ID)
	e.ok(err)
	e.same("segment", string(opened.Bytes()), "segment aa")
	e.ok(opened.Close())
	e.same("manifest of the pinned one", e.manifest(id, 3), []store.FileEntry{file("same", "dd"), file("x", "aa")})
	e.same("a second time", e.collect(store.Retention{}), store.Collected{})
	e.ok(e.s.Check(e.ctx))
	e.step(id, edit{put: map[string]string{"x": "bb"}})
	e.same("the next snapshot", e.manifest(id, 5), []store.FileEntry{file("same", "dd"), file("x", "bb")})
}

func testCollectGrace(t *testing.T, e *env) {
	id := e.register("a")
	e.ok(e.s.PutContents(e.ctx, []store.Content{content("early"), content("again")}))
	early := e.segment(id, 1, "early")
	e.clock.advance(store.CollectGrace / 2)
	e.ok(e.s.PutContents(e.ctx, []store.Content{content("again")}))
	late := e.segment(id, 1, "late")
	e.same("within the grace", e.collect(store.Retention{}), store.Collected{})
	e.clock.advance(store.CollectGrace / 2)
	e.same("after it", e.collect(store.Retention{}), store.Collected{Contents: 1, Segments: 1, Bytes: 10})
	e.same("contents", e.held("early", "again"), []string{"again"})
	_, err := e.s.OpenSegment(e.ctx, early)
	e.is(err, store.ErrNotFound)
	opened, err := e.s.OpenSegment(e.ctx, late)
	e.ok(err)
	e.ok(opened.Close())
	o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "early"}})
	o.Contents = nil
	_, err = e.s.Open(e.ctx, o)
	e.is(err, store.ErrIncomplete)
}

func testCollectSharedContents(t *testing.T, e *env) {
	a, b := e.register("a"), e.register("b")
	e.step(a, edit{put: map[string]string{"x": "shared", "y": "a only"}})
	e.step(b, edit{put: map[string]string{"z": "shared"}})
	e.process("shared")
	e.clock.advance(2 * store.CollectGrace)
	e.ok(e.s.Clear(e.ctx, a))
	e.same("before a collection", e.held("shared", "a only"), []string{"shared", "a only"})
	e.same("contents of one", e.collect(store.Retention{}).Contents, 1)
	e.same("shared by the other", e.held("shared", "a only"), []string{"shared"})
	e.step(b, edit{remove: []string{"z"}})
	e.same("still retained", e.collect(store.Retention{Keep: 2}).Contents, 0)
	got := e.collect(store.Retention{})
	e.same("contents of neither", got.Contents, 1)
	e.same("vectors of neither", got.Vectors, 6)
	e.same("held", e.held("shared"), nil)
}

func testCollectCleared(_ *testing.T, e *env) {
	a, b := e.register("a"), e.register("b")
	first := e.open(a, edit{put: map[string]string{"x": "shared", "y": "a only"}})
	e.seal(a, first.Number, e.segment(a, 1, "of a"))
	e.step(a, edit{put: map[string]string{"y": "a later"}})
	e.step(b, edit{put: map[string]string{"z": "shared"}})
	e.segment(b, 1, "being built")
	e.ok(e.s.PutContents(e.ctx, []store.Content{content("being scanned")}))
	e.ok(e.s.Clear(e.ctx, a))
	got := e.collect(store.Retention{})
	e.same("contents at once", got.Contents, 2)
	e.same("segments at once", got.Segments, 1)
	all := []string{"shared", "a only", "a later", "being scanned"}
	e.same("held", e.held(all...), []string{"shared", "being scanned"})
}

func testCollectVectors(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"x": "ab"}})
	e.process("ab")
	e.step(id, edit{put: map[string]string{"x": "bc"}})
	e.process("bc")
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: store.SyntaxKey{Content: hashOf("bc"), Version: "old chunker"}, Syntax: syntax("dd")}}))
	e.ok(e.s.PutVectors(e.ctx, "old model", vectors("b"), []store.SyntaxKey{key("bc")}))
	e.clock.advance(2 * store.CollectGrace)
	got := e.collect(store.Retention{})
	e.same("collected", got, store.Collected{Snapshots: 1, Contents: 1, Syntaxes: 2, Vectors: 2, Bytes: 2})
	embedding := recipe("m1").Embedding.Key()
	left, err := e.s.Vectors(e.ctx, embedding, []merkle.Hash{chunkHash('a'), chunkHash('b'), chunkHash('c')})
	e.ok(err)
	e.same("vectors", left, map[merkle.Hash]store.Vector{chunkHash('b'): vector('b'), chunkHash('c'): vector('c')})
	marked, err := e.s.HasEmbedded(e.ctx, embedding, []store.SyntaxKey{key("ab"), key("bc")})
	e.ok(err)
	e.same("marks", marked, map[store.SyntaxKey]bool{key("bc"): true})
	e.ok(e.s.PutContents(e.ctx, []store.Content{content("ab")}))
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: key("ab"), Syntax: syntax("ab")}}))
	marked, err = e.s.HasEmbedded(e.ctx, embedding, []store.SyntaxKey{key("ab")})
	e.ok(err)
	e.same("a mark does not outlive its vectors", marked, nil)
}

func testCollectKeepsDelta(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"a": "1", "b": "1", "c": "1"}})
	e.step(id, edit{put: map[string]string{"a": "2"}})
	e.step(id, edit{put: map[string]string{"c": "2"}, remove: []string{"b"}})
	e.step(id, edit{put: map[string]string{"b": "3"}})
	e.step(id, edit{remove: []string{"b", "c"}})
	e.ok(e.s.SetPinned(e.ctx, id, 3, true))
	e.clock.advance(2 * store.CollectGrace)
	for range 2 {
		e.collect(store.Retention{})
		e.same("retained", e.numbers(id), []uint64{5, 3})
		upserted, removed := e.delta(id, 3)
		e.same("upserted by 3", upserted, []string{"c"})
		e.same("removed by 3", removed, []string{"b"})
		upserted, removed = e.delta(id, 5)
		e.same("upserted by 5", upserted, nil)
		e.same("removed by 5", removed, []string{"b", "c"})
	}
	e.same("a removed file keeps no content", e.held("1", "2", "3"), []string{"2"})
}

func testCollectDryRun(t *testing.T, e *env) {
	id := e.register("a")
	for _, text := range []string{"aa", "bb"} {
		n := e.open(id, edit{put: map[string]string{"x": text}})
		e.process(text)
		e.seal(id, n.Number, e.segment(id, 1, text))
	}
	e.clock.advance(2 * store.CollectGrace)
	before, err := e.s.Usage(e.ctx)
	e.ok(err)
	dry := e.collect(store.Retention{DryRun: true})
	e.same("dry run", dry, store.Collected{Snapshots: 1, Contents: 1, Syntaxes: 1, Vectors: 1, Segments: 1, Bytes: 4})
	after, err := e.s.Usage(e.ctx)
	e.ok(err)
	before.DirectoryUsed, after.DirectoryUsed = 0, 0
	e.same("usage after a dry run", after, before)
	e.same("snapshots after a dry run", e.numbers(id), []uint64{2, 1})
	opened, err := e.s.OpenSegment(e.ctx, e.view(id, 1)[0].ID)
	e.ok(err)
	e.ok(opened.Close())
	e.same("the run itself", e.collect(store.Retention{}), dry)
}

func testCollectFailures(t *testing.T, e *env) {
	id := e.register("a")
	fail := func(path, text string) store.Failure {
		f, err := e.s.RecordFailure(e.ctx, store.Failure{Codebase: id, Path: path, Content: hashOf(text), Stage: store.StageChunk}, true, nil)
		e.ok(err)
		return f
	}
	e.step(id, edit{put: map[string]string{"x": "1", "y": "1"}})
	fail("x", "1")
	gone := fail("y", "1")
	e.step(id, edit{put: map[string]string{"x": "2"}, remove: []string{"y"}})
	kept := fail("x", "2")
	fail("never", "2")
	e.collect(store.Retention{})
	all, err := e.s.Failures(e.ctx, id)
	e.ok(err)
	e.same("failures of files that are left", all, []store.Failure{kept})
	e.same("parked", gone.Parked, true)
}

func testUsage(t *testing.T, e *env) {
	id := e.register("a")
	e.process("ab", "bc")
	e.step(id, edit{put: map[string]string{"x": "ab", "y": "bc"}})
	e.segment(id, 1, "seg")
	u, err := e.s.Usage(e.ctx)
	e.ok(err)
	e.same("usage", []int64{
		int64(u.Contents), u.ContentBytes, int64(u.Syntaxes), int64(u.Vectors), int64(u.Segments), u.SegmentBytes, int64(u.ManifestRows),
	}, []int64{2, 4, 2, 3, 1, 3, 2})
	if u.StoredBytes <= 0 {
		t.Errorf("stored bytes are %d", u.StoredBytes)
	}
}

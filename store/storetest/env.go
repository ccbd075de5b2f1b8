package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// clock is a time that only the test moves.
type clock struct {
	mu sync.Mutex // guards at
	at time.Time
}

func newClock() *clock {
	return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// env is a store under test with words to speak to it.
type env struct {
	t     *testing.T
	ctx   context.Context
	s     store.Store
	clock *clock
}

func newEnv(t *testing.T, open Open) *env {
	c := newClock()
	return &env{t: t, ctx: t.Context(), s: open(t, c.now), clock: c}
}

func (e *env) ok(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) is(err, want error) {
	e.t.Helper()
	if !errors.Is(err, want) {
		e.t.Fatalf("error is %v, want %v", err, want)
	}
}

// same compares values; a nil want stands for anything empty.
func (e *env) same(what string, got, want any) {
	e.t.Helper()
	if v := reflect.ValueOf(got); want == nil && v.Len() == 0 {
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		e.t.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

// register adds a codebase whose name and root derive from its id.
func (e *env) register(id store.CodebaseID) store.CodebaseID {
	e.t.Helper()
	_, err := e.s.Register(e.ctx, store.Codebase{ID: id, Name: "name-" + string(id), Root: "/src/" + string(id)})
	e.ok(err)
	return id
}

func recipe(model string) store.Recipe {
	return store.Recipe{
		Schema: 1, Tokenizer: "1", Chunker: "c1", IgnoreRules: "1",
		Embedding: store.EmbeddingRecipe{Provider: "test", Model: model, Dimension: 4, Normalization: "l2"},
		Grammars:  map[string]string{"Go": "g1"},
	}
}

func content(text string) store.Content {
	return store.Content{Hash: sha256.Sum256([]byte(text)), Data: []byte(text)}
}

func hashOf(text string) merkle.Hash { return content(text).Hash }

func file(path, text string) store.FileEntry {
	return store.FileEntry{Path: path, Content: hashOf(text), Size: int64(len(text)), Language: "Go"}
}

// edit is a change of a tree: files by path with their text, and paths to be removed.
type edit struct {
	put    map[string]string
	remove []string
}

// opening is the next snapshot of a codebase with an edit and all that it names.
func (e *env) opening(id store.CodebaseID, r store.Recipe, change edit) store.Opening {
	e.t.Helper()
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	o := store.Opening{
		Codebase: id, Number: c.Latest + 1, Parent: c.Latest, Recipe: r, At: e.clock.now(),
		Root: hashOf(fmt.Sprint(id, c.Latest+1, change)), Removes: change.remove, Rebuild: c.Latest == 0,
	}
	for path, text := range change.put {
		o.Upserts = append(o.Upserts, file(path, text))
		o.Contents = append(o.Contents, content(text))
	}
	return o
}

// open opens the next snapshot.
func (e *env) open(id store.CodebaseID, change edit) store.Snapshot {
	e.t.Helper()
	n, err := e.s.Open(e.ctx, e.opening(id, recipe("m1"), change))
	e.ok(err)
	return n
}

// seal finishes the work of a snapshot and seals it full with the segments given.
func (e *env) seal(id store.CodebaseID, number uint64, segments ...store.SegmentID) {
	e.t.Helper()
	e.ok(Finish(e.ctx, e.s, id, number))
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: number, Level: store.LevelFull, At: e.clock.now(), Segments: segments}))
}

// step opens and seals the next snapshot.
func (e *env) step(id store.CodebaseID, change edit) store.Snapshot {
	e.t.Helper()
	n := e.open(id, change)
	e.seal(id, n.Number)
	return n
}

func (e *env) segment(id store.CodebaseID, files int, data string) store.SegmentID {
	e.t.Helper()
	sid, err := e.s.PutSegment(e.ctx, id, files, 2*files, []byte(data))
	e.ok(err)
	return sid
}

// manifest reads a whole manifest.
func (e *env) manifest(id store.CodebaseID, number uint64) []store.FileEntry {
	e.t.Helper()
	var all []store.FileEntry
	for f, err := range e.s.Manifest(e.ctx, id, number) {
		e.ok(err)
		all = append(all, f)
	}
	return all
}

// key is the syntax key of a text in Go under recipe.
func key(text string) store.SyntaxKey {
	return store.SyntaxKey{Content: hashOf(text), Version: recipe("m1").SyntaxVersion("Go")}
}

// syntax cuts a text into one chunk for every byte, so that texts share chunks.
func syntax(text string) store.Syntax {
	s := store.Syntax{Cut: store.CutGrammar}
	for i := range len(text) {
		s.Chunks = append(s.Chunks, store.Chunk{
			Start: uint32(i), End: uint32(i + 1), StartLine: 1, EndLine: 1,
			Breadcrumb: "at", TextHash: chunkHash(text[i]),
		})
	}
	s.Definitions = []store.Definition{{Name: text, Kind: "function", Signature: "func " + text, End: uint32(len(text)), StartLine: 1, EndLine: 1, Parent: -1}}
	s.References = []store.Reference{{Name: "fmt." + text, Kind: store.RefCall, Line: 1}}
	return s
}

func chunkHash(b byte) merkle.Hash { return hashOf("chunk " + string(b)) }

func vector(b byte) store.Vector {
	return store.Vector{Scale: float32(b) / 127, Data: []int8{int8(b & 63), -1, 0, 127}}
}

// vectors are those of every chunk of a text.
func vectors(text string) []store.VectorRecord {
	var all []store.VectorRecord
	for _, b := range []byte(text) {
		all = append(all, store.VectorRecord{TextHash: chunkHash(b), Vector: vector(b)})
	}
	return all
}

// process gives a text its syntax and vectors under recipe.
func (e *env) process(texts ...string) {
	e.t.Helper()
	embedding := recipe("m1").Embedding.Key()
	for _, text := range texts {
		e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: key(text), Syntax: syntax(text)}}))
		e.ok(e.s.PutVectors(e.ctx, embedding, vectors(text), []store.SyntaxKey{key(text)}))
	}
}

// Finish gives every pending file of a snapshot a syntax and vectors under the recipe of the
// snapshot, as the stages do, so that it may be sealed.
func Finish(ctx context.Context, s store.Store, id store.CodebaseID, number uint64) error {
	n, err := s.Snapshot(ctx, id, number)
	if err != nil {
		return err
	}
	r, err := s.Recipe(ctx, n.Fingerprint)
	if err != nil {
		return err
	}
	pending, err := s.Pending(ctx, id, number, r)
	if err != nil {
		return err
	}
	done := map[store.SyntaxKey]bool{}
	for _, p := range pending {
		k := store.SyntaxKey{Content: p.Content, Version: r.SyntaxVersion(p.Language)}
		if done[k] {
			continue
		}
		done[k] = true
		text, err := s.Content(ctx, p.Content)
		if err != nil {
			return err
		}
		if err := s.PutSyntax(ctx, []store.SyntaxRecord{{Key: k, Syntax: syntax(string(text))}}); err != nil {
			return err
		}
		if err := s.PutVectors(ctx, r.Embedding.Key(), vectors(string(text)), []store.SyntaxKey{k}); err != nil {
			return err
		}
	}
	return nil
}

func event(id store.CodebaseID, snapshot uint64, part uint32) store.OutboxEvent {
	return store.OutboxEvent{Codebase: id, Snapshot: snapshot, Part: part, Data: fmt.Appendf(nil, "%s-%d-%d", id, snapshot, part)}
}

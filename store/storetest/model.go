package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
)

// testModel makes the same random calls to the store and to memstore, valid or not,
// repeated and out of order, and compares every result and then everything readable. The two
// share their rules; invariants says of each what those must keep true.
func testModel(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		m := &model{
			ctx: context.Background(), clock: c, twin: memstore.New(memstore.Options{Now: c.now}), s: open(t, c.now),
			alias: map[store.SegmentID]store.SegmentID{},
		}
		rt.Repeat(m.actions())
		m.compare(rt)
		if err := m.s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// model drives two stores. Segments are named by the order in which they were made.
type model struct {
	ctx      context.Context
	clock    *clock
	s, twin  store.Store
	ids      [2][]store.SegmentID
	alias    map[store.SegmentID]store.SegmentID // of s to those of the twin
	openings []store.Opening
	seals    []seal
	steps    int
}

// seal is a seal whose segments are indexes into model.ids.
type seal struct {
	store.Seal
	segments []int
	dead     map[int][]uint32
}

var modelUniverse = universe{
	texts: []string{"", "a", "ab", "bc", "cde", "xyz"}, models: []string{"m1", "m2"}, chunks: "abcdexyz",
}

func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"advance": func(t *rapid.T) {
			m.clock.advance(time.Duration(rapid.IntRange(1, 50).Draw(t, "minutes")) * time.Minute)
		},
		"register":       m.register,
		"codebase":       m.codebaseWords,
		"contents":       m.contents,
		"stats":          m.stats,
		"open":           m.open,
		"open next":      m.openNext,
		"open again":     m.openAgain,
		"process":        m.process,
		"segment":        m.segment,
		"seal":           m.seal,
		"seal latest":    m.sealLatest,
		"seal again":     m.sealAgain,
		"replace":        m.replace,
		"snapshot words": m.snapshotWords,
		"fail":           m.fail,
		"outbox":         m.outbox,
		"collect":        m.collect,
	}
}

// both calls fn with each store and compares what it returns.
func (m *model) both(t *rapid.T, what string, fn func(s store.Store, i int) (any, error)) {
	want, wantErr := fn(m.twin, 0)
	got, gotErr := fn(m.s, 1)
	if kind(gotErr) != kind(wantErr) {
		t.Fatalf("%s: error is %v, the twin's is %v", what, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); wantErr == nil && diff != "" {
		t.Fatalf("%s differs (-twin +store):\n%s", what, diff)
	}
}

// kind is the sentinel that an error wraps.
func kind(err error) string {
	if err == nil {
		return ""
	}
	for _, sentinel := range []error{
		store.ErrNotFound, store.ErrNoSnapshot, store.ErrConflict, store.ErrAwaitingSeal, store.ErrIncomplete, store.ErrChecksum,
	} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return "other"
}

// check compares everything now and then: reading all is dear.
func (m *model) check(t *rapid.T) {
	if m.steps++; m.steps%8 == 0 {
		m.compare(t)
	}
}

func (m *model) compare(t *rapid.T) {
	want, err := read(m.ctx, m.twin, modelUniverse, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(m.ctx, m.s, modelUniverse, m.alias)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("store differs (-twin +store):\n%s", diff)
	}
	for _, s := range []store.Store{m.twin, m.s} {
		if err := invariants(m.ctx, s); err != nil {
			t.Fatalf("%T: %v", s, err)
		}
	}
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func anyID(t *rapid.T) store.CodebaseID {
	return pick[store.CodebaseID](t, "codebase", "a", "a", "a", "b", "b", "nobody")
}

func anyText(t *rapid.T) string { return pick(t, "text", modelUniverse.texts...) }

func anyPath(t *rapid.T) string { return pick(t, "path", "p", "q", "d/r", "\xff", "z") }

func anyNumber(t *rapid.T) uint64 { return rapid.Uint64Range(0, 6).Draw(t, "number") }

func (m *model) register(t *rapid.T) {
	id := pick[store.CodebaseID](t, "id", "a", "b")
	root := pick(t, "root", "/a", "/b")
	m.both(t, "register", func(s store.Store, _ int) (any, error) {
		return s.Register(m.ctx, store.Codebase{ID: id, Name: "n", Root: root})
	})
}

func (m *model) codebaseWords(t *rapid.T) {
	id, word := anyID(t), pick(t, "word", "clear", "forget", "identity", "failure")
	m.both(t, word, func(s store.Store, _ int) (any, error) {
		switch word {
		case "clear":
			return nil, s.Clear(m.ctx, id)
		case "forget":
			return nil, s.Forget(m.ctx, id, true)
		case "identity":
			return nil, s.SetIdentity(m.ctx, id, store.RootIdentity{Device: 1})
		}
		return nil, s.SetFailure(m.ctx, id, "reason")
	})
}

func (m *model) contents(t *rapid.T) {
	contents := []store.Content{content(anyText(t)), content(anyText(t))}
	if rapid.IntRange(0, 9).Draw(t, "torn") == 0 {
		contents[1].Data = []byte("torn")
	}
	m.both(t, "put contents", func(s store.Store, _ int) (any, error) { return nil, s.PutContents(m.ctx, contents) })
}

func (m *model) stats(t *rapid.T) {
	id := anyID(t)
	entry := store.StatEntry{Path: anyPath(t), XX: rapid.Uint64().Draw(t, "xx"), LeftOut: pick(t, "out", "", store.LeftOutSecret)}
	remove := anyPath(t)
	m.both(t, "put stats", func(s store.Store, _ int) (any, error) {
		return nil, s.PutStats(m.ctx, id, []store.StatEntry{entry}, []string{remove})
	})
}

func (m *model) opening(t *rapid.T, id store.CodebaseID, number, parent uint64) store.Opening {
	o := store.Opening{
		Codebase: id, Number: number, Parent: parent, Recipe: recipe(pick(t, "model", modelUniverse.models...)),
		Rebuild: rapid.IntRange(0, 3).Draw(t, "rebuild") == 0, At: m.clock.now(), Ref: "main",
		Retry: rapid.IntRange(0, 3).Draw(t, "retry") == 0,
	}
	o.Root = hashOf(fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "root")))
	seen := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "upserts") {
		path, text := anyPath(t), anyText(t)
		if seen[path] {
			continue
		}
		seen[path] = true
		f := file(path, text)
		f.RenamedFrom = pick(t, "from", "", "", "old")
		o.Upserts = append(o.Upserts, f)
		if rapid.IntRange(0, 9).Draw(t, "forget content") > 0 {
			o.Contents = append(o.Contents, content(text))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "removes") {
		o.Removes = append(o.Removes, anyPath(t))
	}
	o.Events = []store.OutboxEvent{event(id, number, uint32(rapid.IntRange(0, 1).Draw(t, "part")))}
	return o
}

func (m *model) put(t *rapid.T, o store.Opening) {
	m.openings = append(m.openings, o)
	m.both(t, "open", func(s store.Store, _ int) (any, error) { return s.Open(m.ctx, o) })
}

func (m *model) open(t *rapid.T) {
	m.put(t, m.opening(t, anyID(t), anyNumber(t), anyNumber(t)))
}

// openNext opens what the contract wants, so that the model gets somewhere.
func (m *model) openNext(t *rapid.T) {
	id := anyID(t)
	c, err := m.twin.Codebase(m.ctx, id)
	if err != nil {
		t.Skip("no such codebase")
	}
	m.put(t, m.opening(t, id, c.Latest+1, c.Latest))
}

func (m *model) openAgain(t *rapid.T) {
	if len(m.openings) == 0 {
		t.Skip("nothing was opened")
	}
	m.put(t, pick(t, "opening", m.openings...))
}

func (m *model) process(t *rapid.T) {
	text, embedding := anyText(t), recipe(pick(t, "model", modelUniverse.models...)).Embedding.Key()
	k := key(text)
	if rapid.IntRange(0, 4).Draw(t, "other version") == 0 {
		k.Version = "other"
	}
	word := pick(t, "word", "syntax", "vectors", "all vectors", "all vectors", "drop")
	m.both(t, word, func(s store.Store, _ int) (any, error) {
		switch word {
		case "syntax":
			return nil, s.PutSyntax(m.ctx, []store.SyntaxRecord{{Key: k, Syntax: syntax(text)}})
		case "vectors":
			return nil, s.PutVectors(m.ctx, embedding, vectors(text[:len(text)/2]), []store.SyntaxKey{k})
		case "drop":
			return nil, s.DropSyntax(m.ctx, []store.SyntaxKey{k})
		}
		return nil, s.PutVectors(m.ctx, embedding, vectors(text), []store.SyntaxKey{k, key("ab")})
	})
}

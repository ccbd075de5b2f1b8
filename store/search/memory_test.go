package search_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// memory is a source that counts the segments that are open.
type memory struct {
	mu       sync.Mutex
	segments map[store.SegmentID][]byte
	contents map[merkle.Hash][]byte
	syntaxes map[store.SyntaxKey]store.Syntax
	open     int
	opened   int
	fail     error
}

func newMemory() *memory {
	return &memory{segments: map[store.SegmentID][]byte{}, contents: map[merkle.Hash][]byte{},
		syntaxes: map[store.SyntaxKey]store.Syntax{}}
}

func (m *memory) OpenSegment(_ context.Context, id store.SegmentID) (store.Segment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.segments[id]
	if m.fail != nil || !ok {
		return nil, fmt.Errorf("segment %d: %w", id, max2(m.fail, store.ErrNotFound))
	}
	m.open++
	m.opened++
	return &handle{memory: m, data: data}, nil
}

func max2(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (m *memory) Content(_ context.Context, h merkle.Hash) ([]byte, error) {
	data, ok := m.contents[h]
	if !ok {
		return nil, store.ErrNotFound
	}
	return data, nil
}

// Recipe is the same for every fingerprint.
func (m *memory) Recipe(context.Context, store.Fingerprint) (store.Recipe, error) {
	return store.Recipe{}, m.fail
}

func (m *memory) Syntax(_ context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	found := map[store.SyntaxKey]store.Syntax{}
	for _, k := range keys {
		if syntax, ok := m.syntaxes[k]; ok {
			found[k] = syntax
		}
	}
	return found, nil
}

func syntaxKey(e store.FileEntry) store.SyntaxKey {
	return store.SyntaxKey{Content: e.Content, Version: store.Recipe{}.SyntaxVersion(e.Language)}
}

type handle struct {
	memory *memory
	data   []byte
}

func (h *handle) Bytes() []byte { return h.data }

func (h *handle) Close() error {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	h.memory.open--
	return nil
}

// put stores files as a segment with an index of trigrams and returns its ref.
func (m *memory) put(t fataler, files []segment.File, dimension int, dead ...uint32) store.SegmentRef {
	return m.putWith(t, files, segment.Options{Dimension: dimension, Trigrams: true}, dead...)
}

// putPlain is put without the index.
func (m *memory) putPlain(t fataler, files []segment.File, dimension int) store.SegmentRef {
	return m.putWith(t, files, segment.Options{Dimension: dimension})
}

func (m *memory) putWith(t fataler, files []segment.File, options segment.Options, dead ...uint32) store.SegmentRef {
	b := segment.NewBuilder(options)
	for _, f := range files {
		if err := b.Add(f); err != nil {
			t.Fatalf("add: %v", err)
		}
		m.contents[f.Entry.Content] = f.Content
		m.syntaxes[syntaxKey(f.Entry)] = f.Syntax
	}
	ref := store.SegmentRef{ID: store.SegmentID(len(m.segments) + 1), Files: b.Files(), Chunks: b.Chunks(), Dead: dead}
	data, err := b.Finish()
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	m.segments[ref.ID] = data
	return ref
}

type fataler interface {
	Fatalf(format string, arguments ...any)
}

// source makes a file of chunks, each a text; a line "def NAME" in it is a definition.
func source(path string, flags store.FileFlags, chunks ...string) segment.File {
	f := segment.File{Entry: store.FileEntry{Path: path, Language: "Go", Flags: flags}}
	line := uint32(1)
	for _, text := range chunks {
		text = strings.TrimSuffix(text, "\n") + "\n"
		c := store.Chunk{Start: uint32(len(f.Content)), StartLine: line}
		for _, l := range strings.SplitAfter(text, "\n") {
			if name, ok := strings.CutPrefix(l, "def "); ok {
				f.Syntax.Definitions = append(f.Syntax.Definitions, store.Definition{Name: strings.TrimSpace(name),
					Kind: "function", Signature: strings.TrimSpace(l), Parent: -1, Start: uint32(len(f.Content)),
					End: uint32(len(f.Content) + len(l)), StartLine: line, EndLine: line})
			}
			f.Content = append(f.Content, l...)
			line += uint32(strings.Count(l, "\n"))
		}
		c.End, c.EndLine = uint32(len(f.Content)), line-1
		c.TextHash = sha256.Sum256([]byte(text))
		f.Syntax.Chunks = append(f.Syntax.Chunks, c)
	}
	f.Entry.Content, f.Entry.Size = sha256.Sum256(f.Content), int64(len(f.Content))
	return f
}

// embedder answers every query with one vector, or fails.
type embedder struct {
	vector []float32
	err    error
}

func (e embedder) Recipe() store.EmbeddingRecipe { return store.EmbeddingRecipe{} }

func (e embedder) EmbedQuery(context.Context, string) ([]float32, error) { return e.vector, e.err }

// ask searches files that are one segment.
func ask(t *testing.T, files []segment.File, q search.Query) search.Result {
	t.Helper()
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	e := search.New(m, nil, search.Options{RegexDeadline: time.Hour})
	result, err := e.Search(t.Context(), view, q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	if err := e.Close(); err != nil || m.open != 0 {
		t.Fatalf("close: %v, %d segments open", err, m.open)
	}
	return result
}

func paths(r search.Result) (out []string) {
	for _, h := range r.Hits {
		out = append(out, fmt.Sprintf("%s:%d-%d", h.Path, h.StartLine, h.EndLine))
	}
	return out
}

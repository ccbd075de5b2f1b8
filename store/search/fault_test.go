package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// mapped serves segments as a store does that maps their files.
type mapped struct {
	*memory
	file string
}

type mapping struct{ data []byte }

func (m mapping) Bytes() []byte { return m.data }
func (m mapping) Close() error  { return syscall.Munmap(m.data) }

func (m mapped) OpenSegment(_ context.Context, id store.SegmentID) (store.Segment, error) {
	f, err := os.Open(m.file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := syscall.Mmap(int(f.Fd()), 0, len(m.segments[id]), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return mapping{data}, nil
}

// A segment whose file is cut short while it is mapped gives an error, not a crash, and the
// engine goes on.
func TestTruncatedMappingIsAnError(t *testing.T) {
	t.Parallel()
	m := mapped{newMemory(), filepath.Join(t.TempDir(), "1.seg")}
	var files []segment.File
	for i := range 300 {
		files = append(files, source(fmt.Sprintf("%d.go", i), 0, strings.Repeat(fmt.Sprintf("alpha word%d ", i), 20)))
	}
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	whole := m.segments[view.Segments[0].ID]
	if err := os.WriteFile(m.file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	e := search.New(m, nil, search.Options{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	q := search.Query{Text: "alpha word7"}
	want, err := e.Search(t.Context(), view, q)
	if err != nil || len(want.Hits) == 0 {
		t.Fatalf("%d hits (%v)", len(want.Hits), err)
	}
	if err := os.Truncate(m.file, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), view, q); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("a search over a truncated file gives %v", err)
	}
	if err := os.WriteFile(m.file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := e.Search(t.Context(), view, q)
	if err != nil || len(got.Hits) != len(want.Hits) || got.Hits[0].ID != want.Hits[0].ID {
		t.Errorf("afterwards: %d hits (%v), want %d", len(got.Hits), err, len(want.Hits))
	}
}

// damagedSource gives no content and no syntax of one file, for a reason.
type damagedSource struct {
	*memory
	file segment.File
	why  error
}

func (d damagedSource) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	if h == d.file.Entry.Content {
		return nil, fmt.Errorf("content: %w", d.why)
	}
	return d.memory.Content(ctx, h)
}

func (d damagedSource) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	found, _ := d.memory.Syntax(ctx, keys)
	if _, ok := found[syntaxKey(d.file.Entry)]; ok {
		delete(found, syntaxKey(d.file.Entry))
		return found, fmt.Errorf("syntax: %w", d.why)
	}
	return found, nil
}

// TestDamageOfEveryNameCostsItsFile: a row that is damaged, whichever sentinel says so, costs
// what is read of its file, and no mode fails for the others.
func TestDamageOfEveryNameCostsItsFile(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("broken.go", 0, "def Needle\nneedle\n"), source("whole.go", 0, "def Needles\nneedle\n")}
	for _, why := range []error{store.ErrCorrupt, store.ErrChecksum, &store.DamagedError{Err: store.ErrChecksum}} {
		for _, mode := range search.Modes() {
			t.Run(fmt.Sprintf("%s/%v", mode, why), func(t *testing.T) {
				t.Parallel()
				m := newMemory()
				view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
				e := search.New(damagedSource{m, files[0], why}, nil, search.Options{Reranking: search.Reranking{Reranker: &judge{of: backwards}}})
				defer func() {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				}()
				text := "needle"
				if mode == search.ModePath {
					text = "whole.go"
				}
				got, err := e.Search(t.Context(), view, search.Query{Text: text, Mode: mode})
				if err != nil || len(got.Hits) == 0 {
					t.Fatalf("%d hits (%v)", len(got.Hits), err)
				}
				if mode == search.ModeRegex && (got.TotalExact || got.UnreadCount != 1) {
					t.Errorf("the total is exact: %v, %d unread", got.TotalExact, got.UnreadCount)
				}
			})
		}
	}
}

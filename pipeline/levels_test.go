package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// While a reader waits for a large snapshot, it is sealed at LevelText first: every file is
// searchable by its words though not one has a vector. The full seal follows by itself.
func TestTextLevelComesFirst(t *testing.T) {
	t.Parallel()
	gate := &gated{Provider: builtin.New(), open: make(chan struct{})}
	r := newRig(t, rigOptions{provider: gate, threshold: 5})
	const files = 450
	for i := range files {
		r.write(fmt.Sprintf("d%d/f%d.go", i%9, i), goFile("d", fmt.Sprintf("Unique%d", i)))
	}
	r.pipeline.Sealer.Want(r.codebase.ID)
	if _, err := r.sync.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		changed := r.awaitChange()
		if r.current().Level >= store.LevelText {
			break
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("no text level")
		}
	}
	if level := r.current().Level; level != store.LevelText {
		t.Fatalf("the snapshot is %s while the provider is held", level)
	}
	if n := r.filesWithTerm("unique"); n != files {
		t.Errorf("%d of %d files are searchable by their words", n, files)
	}
	close(gate.open)
	if full := r.catchUp(); full.Number != 1 || full.Level != store.LevelFull {
		t.Errorf("snapshot %d is %s at the end, want 1 full", full.Number, full.Level)
	}
	r.wantClean()
}

// gated embeds nothing until it is opened.
type gated struct {
	embedding.Provider
	open chan struct{}
}

func (p *gated) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	select {
	case <-p.open:
		return p.Provider.Embed(ctx, kind, texts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// filesWithTerm counts the live files of the served snapshot whose text holds a term.
func (r *rig) filesWithTerm(term string) int {
	r.t.Helper()
	view, err := r.store.View(r.t.Context(), r.codebase.ID, r.current().Number)
	r.must(err)
	files := map[string]bool{}
	for _, ref := range view.Segments {
		handle, err := r.store.OpenSegment(r.t.Context(), ref.ID)
		r.must(err)
		seg, err := segment.Open(handle.Bytes())
		r.must(err)
		postings := seg.Lookup(term).Body
		for {
			chunk, _, ok := postings.Next()
			if !ok {
				break
			}
			file := seg.ChunkFile(int(chunk))
			if _, dead := slices.BinarySearch(ref.Dead, uint32(file)); !dead {
				files[string(seg.Path(file))] = true
			}
		}
		r.must(handle.Close())
	}
	return len(files)
}

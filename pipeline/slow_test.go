package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Files that hang delay themselves only: while not one of them is cut, every other file of
// the same snapshot is found by its symbols and by its vectors. When they are done the index
// is that of a tree without slow files.
func TestFilesBesideHangingOnesAreFoundBySymbol(t *testing.T) {
	t.Parallel()
	const files, hanging = 200, 60
	slow := &slowCutter{word: "Hanging", release: make(chan struct{})}
	r := newRig(t, rigOptions{slow: slow})
	var quick []string
	for i := range files {
		name := fmt.Sprintf("Quick%d", i)
		if i%10 < hanging*10/files {
			name = fmt.Sprintf("Hanging%d", i)
		} else {
			quick = append(quick, name)
		}
		r.write(fmt.Sprintf("d%d/f%d.go", i%7, i), goFile("d", name))
	}
	if _, err := r.sync.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for r.current().Level < store.LevelText {
		changed := r.awaitChange()
		if r.current().Level >= store.LevelText {
			break
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("nothing was sealed")
		}
	}
	if n := slow.finished.Load(); n != 0 {
		t.Fatalf("%d hanging files were cut before they were released: the test proves nothing", n)
	}
	if level := r.current().Level; level != store.LevelText {
		t.Errorf("the snapshot is %s while %d files hang", level, hanging)
	}
	if n := r.found(search.ModeSymbol, quick); n != files-hanging {
		t.Errorf("%d of %d files are found by their symbol while others hang", n, files-hanging)
	}
	if n := r.embedded(); n != files-hanging {
		t.Errorf("%d of %d files have their vectors while others hang", n, files-hanging)
	}
	if n := slow.most.Load(); n > 2 {
		t.Errorf("%d hanging files were in hand at once, want at most 2", n)
	}
	close(slow.release)
	r.catchUp()
	if n := slow.finished.Load(); n != hanging {
		t.Errorf("%d hanging files were cut, want each of %d once", n, hanging)
	}
	r.wantClean()
}

// slowCutter cuts ordinary contents at once. Those with a word it cuts when it is released,
// and gives up on a try.
type slowCutter struct {
	word                   string
	release                chan struct{}
	finished, inHand, most atomic.Int64
}

func (c *slowCutter) Try(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	if bytes.Contains(content, []byte(c.word)) {
		return store.Syntax{}, chunk.ErrSlow
	}
	return chunk.Cut(language, content), nil
}

func (c *slowCutter) Cut(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	now := c.inHand.Add(1)
	defer c.inHand.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	select {
	case <-c.release:
	case <-ctx.Done():
		return store.Syntax{}, ctx.Err()
	}
	c.finished.Add(1)
	return chunk.Cut(language, content), nil
}

// found counts which of some names a mode of search finds in the served snapshot.
func (r *rig) found(mode search.Mode, names []string) (n int) {
	r.t.Helper()
	view, err := r.store.View(r.t.Context(), r.codebase.ID, r.current().Number)
	r.must(err)
	engine := search.New(r.store, builtin.New(), search.Options{})
	for _, name := range names {
		result, err := engine.Search(r.t.Context(), view, search.Query{Text: name, Mode: mode, Limit: 1})
		r.must(err)
		if len(result.Hits) == 1 {
			if d := result.Hits[0].Definition; d != nil && d.Name == name {
				n++
			}
		}
	}
	return n
}

// embedded counts the files of the served snapshot that have all their vectors.
func (r *rig) embedded() int {
	r.t.Helper()
	var keys []store.SyntaxKey
	for f, err := range r.store.Manifest(r.t.Context(), r.codebase.ID, r.current().Number) {
		r.must(err)
		keys = append(keys, store.SyntaxKey{Content: f.Content, Version: r.recipe.SyntaxVersion(f.Language)})
	}
	done, err := r.store.HasEmbedded(r.t.Context(), r.recipe.Embedding.Key(), keys)
	r.must(err)
	return len(done)
}

package worker_test

import (
	"testing"

	"github.com/freshet/freshet/cmd/worker"
)

// TestCountsOfAnotherProcess: an index run that workers of other processes did reports the
// chunks and vectors that they made, and what they found in the store.
func TestCountsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.worker(worker.Options{})
	root := s.tree(30)
	on := s.host("one")
	first := s.call(on, "index", map[string]any{"path": root, "wait": true}).Summary
	if first == nil || first.FilesIndexed != 30 || first.Chunks < 30 || first.Embedded < 30 || first.Reused != 0 {
		t.Errorf("the first index: %+v", first)
	}
	again := s.call(on, "reindex", map[string]any{"codebase": root, "wait": true}).Summary
	if again == nil || again.FilesIndexed != 30 || again.Chunks != 0 || again.Embedded != 0 || again.Reused != 30 {
		t.Errorf("once more: %+v", again)
	}
}

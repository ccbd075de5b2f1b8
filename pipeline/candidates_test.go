package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

// slowIndex hands every call to the test and returns what it answers.
type slowIndex struct {
	called chan uint64
	answer chan error
}

func (s slowIndex) IndexCandidates(ctx context.Context, _ store.CodebaseID, number uint64) error {
	select {
	case s.called <- number:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-s.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestIndexingNeverHoldsASealUp: snapshots are sealed while an earlier one is indexed; what
// fails is tried again after the next seal, with the newest snapshot, and what is under way
// ends with the pipeline.
func TestIndexingNeverHoldsASealUp(t *testing.T) {
	t.Parallel()
	index := slowIndex{make(chan uint64), make(chan error)}
	r := newRig(t, rigOptions{candidates: index, reconcile: time.Hour})
	next := func() uint64 {
		t.Helper()
		select {
		case number := <-index.called:
			return number
		case <-time.After(5 * time.Minute):
			t.Fatal("nothing was indexed")
		}
		return 0
	}
	r.write("a.go", "package a\n")
	first := r.catchUp().Number
	if got := next(); got != first {
		t.Fatalf("snapshot %d is indexed, want %d", got, first)
	}
	var last uint64
	for _, body := range []string{"package b\n", "package c\n"} {
		r.write("a.go", body)
		last = r.catchUp().Number
	}
	index.answer <- errors.New("the database is gone")
	if got := next(); got != last {
		t.Fatalf("snapshot %d is indexed after a failure, want %d", got, last)
	}
	r.stop() // ends what is under way
}

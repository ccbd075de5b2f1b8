package merklesync_test

import (
	"context"
	"sync/atomic"
	"testing"

	merklesync "github.com/freshet/freshet/sync"
)

// stuck is a log that does not answer until it is released, and counts who publishes.
type stuck struct {
	began    chan struct{}
	release  chan struct{}
	inFlight atomic.Int32
	crowded  atomic.Bool
}

func (s *stuck) Flush(ctx context.Context) error {
	if s.inFlight.Add(1) > 1 {
		s.crowded.Store(true)
	}
	defer s.inFlight.Add(-1)
	s.began <- struct{}{}
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A log that does not answer keeps nobody waiting who asks what changed, and what was
// committed meanwhile is published as soon as it answers.
func TestChecksDoNotWaitForTheLog(t *testing.T) {
	t.Parallel()
	log := &stuck{began: make(chan struct{}, 100), release: make(chan struct{})}
	r := startRig(t, t.TempDir(), merklesync.Options{Outbox: log})
	r.write("x.go", "package x\n")
	if seen := r.check(); seen.Snapshot != 1 || seen.Root != r.truth() {
		t.Fatalf("the check saw %+v", seen)
	}
	<-log.began
	seen, err := r.sync.Rebuild(t.Context())
	r.must(err)
	if seen.Snapshot != 2 {
		t.Fatalf("the second check saw %+v", seen)
	}
	select {
	case <-log.began:
		t.Fatal("two publish at once")
	default:
	}
	log.release <- struct{}{}
	<-log.began // what the first did not see is published after it
	log.release <- struct{}{}
	if log.crowded.Load() {
		t.Error("two published at once")
	}
}

// A synchronizer that ends while it publishes waits until that has ended.
func TestEndsWithItsPublishing(t *testing.T) {
	t.Parallel()
	log := &stuck{began: make(chan struct{}, 100), release: make(chan struct{})}
	r := startRig(t, t.TempDir(), merklesync.Options{Outbox: log})
	r.write("x.go", "package x\n")
	r.check()
	<-log.began
	r.end()
	if log.inFlight.Load() != 0 {
		t.Error("it ended while something was being published")
	}
}

package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/worker"
	"github.com/freshet/freshet/pipeline/embedding"
)

// stuck is a provider that answers nothing until it is told to stop.
type stuck struct {
	*counting
	asked chan struct{}
}

func (s stuck) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	if kind != embedding.Document {
		return s.counting.Embed(ctx, kind, texts)
	}
	s.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDrain: a worker that is told to stop finishes what it has in hand, says meanwhile that
// it takes no more, and nothing of it is done again.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	asked, open := make(chan struct{}, 100), make(chan struct{})
	s.provider.gate = func([]string) {
		asked <- struct{}{}
		<-open
	}
	health, stop := s.worker(worker.Options{Health: "127.0.0.1:0", Drain: 10 * time.Minute})
	root := s.tree(3)
	on := s.host("one")
	s.call(on, "index", map[string]any{"path": root, "wait": false})
	<-asked
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	s.awaitLine(health+"/readyz", "503 stopping")
	close(open)
	<-stopped
	texts := s.provider.texts.Load()
	s.worker(worker.Options{})
	s.call(on, "index", map[string]any{"path": root, "wait": true})
	if again := s.provider.texts.Load() - texts; again != 0 || texts == 0 {
		t.Errorf("%d texts were embedded before the stop, and %d after it", texts, again)
	}
}

// TestStopBeyondPatience: a worker that is told to stop ends with an event in hand that takes
// too long, and gives it back: another does the work, and the end counts as a try of no file.
func TestStopBeyondPatience(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	slow := stuck{counting: s.provider, asked: make(chan struct{}, 100)}
	_, stop := s.worker(worker.Options{Provider: slow, Drain: 50 * time.Millisecond})
	root := s.tree(3)
	on := s.host("one")
	s.call(on, "index", map[string]any{"path": root, "wait": false})
	<-slow.asked
	if n := s.provider.texts.Load(); n != 0 {
		t.Fatalf("%d texts were embedded before", n)
	}
	stop()
	began := time.Now()
	health, _ := s.worker(worker.Options{Health: "127.0.0.1:0"})
	s.call(on, "index", map[string]any{"path": root, "wait": true})
	t.Logf("taken over and sealed in %s", time.Since(began))
	if s.provider.texts.Load() == 0 {
		t.Error("the other worker embedded nothing")
	}
	s.awaitLine(health+"/metrics", `freshet_parked_files\{.*\} 0`)
	s.awaitLine(health+"/metrics", `freshet_retries_total\{cause="file"\} 0`)
	found := s.call(on, "search", map[string]any{"query": "F2", "mode": "symbol", "codebase": root, "freshness": "strict", "max_wait_ms": 300_000})
	if len(found.Results) == 0 {
		t.Errorf("nothing is found: %+v", found.Freshness)
	}
}

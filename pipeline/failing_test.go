package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
)

// Promise 8: a text that the provider rejects parks its file after five tries, with the
// reason, and blocks nobody; a new content is tried again.
func TestPoisonFileIsParked(t *testing.T) {
	t.Parallel()
	provider := &rejecting{Provider: builtin.New(), word: "poison"}
	r := newRig(t, rigOptions{provider: provider})
	smallTree(r)
	r.write("bad.go", goFile("bad", "poison"))
	snapshot := r.catchUp()
	failures, err := r.store.Failures(t.Context(), r.codebase.ID)
	r.must(err)
	if len(failures) != 1 || !failures[0].Parked || failures[0].Path != "bad.go" || failures[0].Tries != store.MaxTries || failures[0].Reason == "" {
		t.Fatalf("failures %+v, want bad.go parked after %d tries with a reason", failures, store.MaxTries)
	}
	if snapshot.Files != 6 {
		t.Errorf("the snapshot has %d files, want 6", snapshot.Files)
	}
	r.write("bad.go", goFile("bad", "antidote"))
	r.catchUp()
	r.wantClean()
}

// Files that share a poisonous content are parked together: one of them is tried for all,
// and none waits for the reconciliation.
func TestPoisonousTwinsAreParkedTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{provider: &rejecting{Provider: builtin.New(), word: "poison"}, reconcile: time.Hour})
	for _, path := range []string{"bad.go", "dir/same.go", "other/same.go"} {
		r.write(path, goFile("bad", "poison"))
	}
	r.catchUp()
	failures, err := r.store.Failures(t.Context(), r.codebase.ID)
	r.must(err)
	for _, f := range failures {
		if !f.Parked || f.Tries != store.MaxTries {
			t.Errorf("failure %+v, want it parked after %d tries", f, store.MaxTries)
		}
	}
	if len(failures) != 3 {
		t.Errorf("%d files are parked, want 3: %+v", len(failures), failures)
	}
}

type rejecting struct {
	embedding.Provider
	word string
}

func (p *rejecting) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	for _, text := range texts {
		if strings.Contains(text, p.word) {
			return nil, fmt.Errorf("%w: it contains %s", embedding.ErrRejected, p.word)
		}
	}
	return p.Provider.Embed(ctx, kind, texts)
}

// An outage never counts as a try and parks nothing.
func TestOutageParksNothing(t *testing.T) {
	t.Parallel()
	provider := &failing{Provider: builtin.New(), left: 7}
	r := newRig(t, rigOptions{provider: provider})
	smallTree(r)
	r.catchUp()
	failures, err := r.store.Failures(t.Context(), r.codebase.ID)
	r.must(err)
	if len(failures) != 0 {
		t.Errorf("an outage left failures %+v", failures)
	}
	r.wantClean()
}

type failing struct {
	embedding.Provider
	mu   sync.Mutex // guards left
	left int
}

func (p *failing) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	p.mu.Lock()
	down := p.left > 0
	if down {
		p.left--
	}
	p.mu.Unlock()
	if down {
		return nil, &embedding.Unavailable{RetryAfter: time.Millisecond, Err: errors.New("connection refused")}
	}
	return p.Provider.Embed(ctx, kind, texts)
}

// A worker killed between its write and its ack loses nothing: every message is delivered
// again after its handler committed, and nothing is done twice.
func TestWorkerKilledBetweenWriteAndAckLosesNothing(t *testing.T) {
	t.Parallel()
	forgetful := &ackless{Bus: membus.New(), handled: map[string]int{}}
	t.Cleanup(func() { closeOf(t, forgetful.Bus) })
	r := newRig(t, rigOptions{bus: forgetful})
	smallTree(r)
	r.catchUp()
	parses, texts := r.work()
	once := newRig(t, rigOptions{root: r.root, name: "once"})
	once.catchUp()
	if wantParses, wantTexts := once.work(); parses != wantParses || texts != wantTexts {
		t.Errorf("%d parses and %d texts, without lost acks %d and %d", parses, texts, wantParses, wantTexts)
	}
	r.wantClean()
	forgetful.mu.Lock()
	defer forgetful.mu.Unlock()
	twice := 0
	for _, n := range forgetful.handled {
		if n > 1 {
			twice++
		}
	}
	if twice == 0 {
		t.Error("no message was delivered again: the test proves nothing")
	}
}

// ackless loses the first ack of every message, as a worker does that is killed after its
// commit.
type ackless struct {
	bus.Bus
	mu      sync.Mutex // guards handled
	handled map[string]int
}

func (b *ackless) Consume(ctx context.Context, c bus.Consumer, handle bus.Handler) error {
	return b.Bus.Consume(ctx, c, func(ctx context.Context, d bus.Delivery) error {
		if err := handle(ctx, d); err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		key := fmt.Sprintf("%s/%d", c.Name, d.Sequence)
		b.handled[key]++
		if b.handled[key] == 1 {
			return &bus.Retry{After: time.Millisecond, Err: errors.New("killed before the ack")}
		}
		return nil
	})
}

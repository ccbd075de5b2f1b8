package rerank_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/rerank"
)

// clock is a time that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

const deadline = 800 * time.Millisecond

// bench is a resolver over a server that does what it is told next.
type bench struct {
	*rerank.Resolver
	clock  *clock
	server *server

	mu     sync.Mutex
	status int
	takes  time.Duration
	silent bool
	header http.Header

	arrived chan struct{} // receives when a silent server has a request
}

// deadlineOn is a context whose deadline comes when something happens.
type deadlineOn struct {
	context.Context
	over chan struct{}
}

// overWhen returns a context whose deadline comes when a value is received, until it is
// stopped.
func overWhen(ctx context.Context, event <-chan struct{}) (_ context.Context, stop func()) {
	d := deadlineOn{ctx, make(chan struct{})}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-event:
			close(d.over)
		case <-stopped:
		}
	}()
	return d, func() { close(stopped); <-ended }
}

func (d deadlineOn) Done() <-chan struct{} { return d.over }

func (d deadlineOn) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func newBench(t *testing.T, o rerank.ResolverOptions) *bench {
	t.Helper()
	b := &bench{clock: &clock{now: time.Unix(1e9, 0)}, status: http.StatusOK, arrived: make(chan struct{})}
	b.server = serve(t, func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		b.mu.Lock()
		status, silent := b.status, b.silent
		for name, values := range b.header {
			w.Header()[name] = values
		}
		b.clock.move(b.takes)
		b.mu.Unlock()
		if silent {
			b.arrived <- struct{}{}
			<-r.Context().Done()
			return
		}
		reply(w, status, `[{"index":0,"score":1}]`)
	})
	o.Deadline, o.Now = deadline, b.clock.Now
	b.Resolver = rerank.NewResolver(provider(t, rerank.Compatible, b.server.URL+"/rerank", ""), o)
	return b
}

func (b *bench) set(status int, takes time.Duration, silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status, b.takes, b.silent = status, takes, silent
}

// call asks once and reports whether the server was asked, and the error.
func (b *bench) call(t *testing.T) (asked bool, err error) {
	t.Helper()
	before := len(b.server.calls())
	ctx, stop := overWhen(t.Context(), b.arrived)
	defer stop()
	_, err = b.Rerank(ctx, "q", []string{"a"})
	return len(b.server.calls()) > before, err
}

// Every combination of policy, place, profile and limits: who is asked.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	for _, policy := range rerank.Policies() {
		for _, local := range []bool{true, false} {
			for _, leaves := range []bool{true, false} {
				for _, failing := range []bool{true, false} {
					for _, fits := range []bool{true, false} {
						name := fmt.Sprintf("%s local=%v leaves=%v failing=%v fits=%v", policy, local, leaves, failing, fits)
						want := fits && (policy == rerank.PolicyForce ||
							policy == rerank.PolicyAuto && (local || leaves) && !failing)
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							refused := rerank.Refusal(policy, rerank.Situation{Local: local, TextLeaves: leaves, Failing: failing, Fits: fits})
							if (refused == nil) != want {
								t.Errorf("refused with %v, want it to be asked: %v", refused, want)
							}
						})
					}
				}
			}
		}
	}
}

func TestTextStaysHere(t *testing.T) {
	t.Parallel()
	p, err := rerank.New(rerank.Options{Kind: rerank.Voyage, URL: "https://reranker.invalid", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy rerank.Policy
		leaves bool
		asked  bool
	}{
		{"", false, false},
		{rerank.PolicyAuto, false, false},
		{rerank.PolicyAuto, true, true},
		{rerank.PolicyForce, false, true},
		{rerank.PolicyOff, true, false},
	} {
		standing := rerank.NewResolver(p, rerank.ResolverOptions{Policy: c.policy, TextLeaves: c.leaves}).Standing()
		if (standing == nil) != c.asked {
			t.Errorf("policy %q, text leaves %v: %v, want asked %v", c.policy, c.leaves, standing, c.asked)
		}
	}
	standing := rerank.NewResolver(p, rerank.ResolverOptions{}).Standing()
	for _, want := range []string{"reranker.invalid", "not on this machine", "FRESHET_RERANKER_POLICY=force"} {
		if !strings.Contains(standing.Error(), want) {
			t.Errorf("%q does not say %q", standing, want)
		}
	}
}

func TestThreeFailuresTurnItOffForAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t, rerank.ResolverOptions{})
	b.set(http.StatusInternalServerError, time.Millisecond, false)
	steps := []struct {
		name  string
		after time.Duration
		asked bool
	}{
		{"the first failure", 0, true},
		{"the second", 0, true},
		{"the third", 0, true},
		{"then it is left alone", 0, false},
		{"nearly for a minute", 59 * time.Second, false},
		{"asked once again", time.Second, true},
		{"and left alone again", 0, false},
	}
	for _, s := range steps {
		b.clock.move(s.after)
		if asked, err := b.call(t); asked != s.asked || err == nil {
			t.Fatalf("%s: asked %v, %v, want %v", s.name, asked, err, s.asked)
		}
	}
	b.clock.move(time.Minute)
	b.set(http.StatusOK, time.Millisecond, false)
	for range 4 {
		if asked, err := b.call(t); !asked || err != nil {
			t.Fatalf("after it recovered: asked %v, %v", asked, err)
		}
	}
	b.set(http.StatusInternalServerError, time.Millisecond, false)
	for i := range 3 {
		if asked, _ := b.call(t); !asked {
			t.Fatalf("failure %d after it recovered: not asked", i)
		}
	}
}

func TestForceAsksWhateverHappened(t *testing.T) {
	t.Parallel()
	b := newBench(t, rerank.ResolverOptions{Policy: rerank.PolicyForce})
	b.set(http.StatusInternalServerError, time.Millisecond, false)
	for i := range 5 {
		if asked, _ := b.call(t); !asked {
			t.Fatalf("call %d: not asked", i)
		}
	}
}

func TestLateAnswersTurnItOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, rerank.ResolverOptions{})
	turns := 0
	for ; turns < 40; turns++ { // never three failures in a row
		b.set(http.StatusOK, deadline*7/8, turns%2 == 0)
		if asked, err := b.call(t); !asked {
			if !strings.Contains(err.Error(), "the deadline is 800ms") {
				t.Errorf("turned off with %v, want the deadline", err)
			}
			break
		}
	}
	if turns < 3 || turns == 40 {
		t.Fatalf("turned off after %d calls of which every second was late", turns)
	}
	b.clock.move(time.Minute)
	b.set(http.StatusOK, deadline*7/8, false)
	for i := range 10 {
		if asked, err := b.call(t); !asked || err != nil {
			t.Fatalf("call %d after the rest: asked %v, %v", i, asked, err)
		}
	}
	b.set(http.StatusOK, 50*time.Millisecond, false)
	for i := range 10 {
		if asked, err := b.call(t); !asked || err != nil {
			t.Fatalf("quick call %d: asked %v, %v", i, asked, err)
		}
	}
	b.set(http.StatusOK, 0, true)
	if _, err := b.call(t); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one late call: %v, want the deadline", err)
	}
	b.set(http.StatusOK, 50*time.Millisecond, false)
	if asked, _ := b.call(t); !asked {
		t.Error("one late call turned it off")
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	for _, policy := range []rerank.Policy{rerank.PolicyAuto, rerank.PolicyForce} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, rerank.ResolverOptions{Policy: policy})
			b.header = http.Header{"Retry-After": {"20"}}
			b.set(http.StatusTooManyRequests, 0, false)
			for _, s := range []struct {
				after time.Duration
				asked bool
			}{{0, true}, {0, false}, {19 * time.Second, false}, {time.Second, true}, {time.Second, false}} {
				b.clock.move(s.after)
				if asked, err := b.call(t); asked != s.asked || err == nil {
					t.Fatalf("after %v more: asked %v, %v, want %v", s.after, asked, err, s.asked)
				}
			}
		})
	}
}

func TestACallerThatLeavesIsNoFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t, rerank.ResolverOptions{})
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Rerank(ctx, "q", []string{"a"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("error is %v, want canceled", err)
		}
	}
	if asked, err := b.call(t); !asked || err != nil {
		t.Errorf("asked %v, %v, want it still to be asked", asked, err)
	}
}

func TestResolverFromManyGoroutines(t *testing.T) {
	t.Parallel()
	b := newBench(t, rerank.ResolverOptions{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if scores, err := b.Rerank(t.Context(), "q", []string{"a"}); err != nil || len(scores) != 1 {
					t.Errorf("%v, %v", scores, err)
				}
			}
		})
	}
	wg.Wait()
}

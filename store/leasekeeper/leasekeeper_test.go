package leasekeeper_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/leasekeeper"
	"github.com/freshet/freshet/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is one that keeps the lease until stopped; term receives the context of each of
// its terms.
type process struct {
	term chan context.Context
	stop func() error
}

func start(t *testing.T, s leasekeeper.Leaser, holder string) process {
	return startAs(t, s, leasekeeper.Options{Name: "x", Holder: holder})
}

func startAs(t *testing.T, s leasekeeper.Leaser, o leasekeeper.Options) process {
	ctx, cancel := context.WithCancel(t.Context())
	p := process{term: make(chan context.Context, 10)}
	done := make(chan error, 1)
	go func() {
		done <- leasekeeper.Keep(ctx, s, o, func(ctx context.Context) error {
			p.term <- ctx
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	p.stop = func() error { cancel(); return <-done }
	return p
}

// A holder that ends gives way at once, and the next one's token is higher.
func TestTheNextTakesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		a := start(t, s, "a")
		first, _ := store.FenceOf(<-a.term)
		b := start(t, s, "b")
		<-time.After(time.Minute)
		if len(b.term) > 0 {
			t.Fatal("two hold the lease")
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
		before := time.Now()
		second, _ := store.FenceOf(<-b.term)
		if took := time.Since(before); took > 2*time.Second {
			t.Errorf("took over after %s", took)
		}
		if second.Token <= first.Token {
			t.Errorf("token %d after %d", second.Token, first.Token)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// broken is a store that a process cannot reach any more.
type broken struct {
	*memstore.Store
	out chan struct{}
}

func (b broken) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	select {
	case <-b.out:
		return store.Lease{}, errors.New("unreachable")
	default:
		return b.Store.Acquire(ctx, name, holder, ttl)
	}
}

// A holder that cannot renew stops before the lease can be another's.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		cut := broken{s, make(chan struct{})}
		a := start(t, cut, "a")
		held := <-a.term
		b := start(t, s, "b")
		close(cut.out)
		<-held.Done()
		if !errors.Is(context.Cause(held), leasekeeper.ErrLost) {
			t.Errorf("ended by %v", context.Cause(held))
		}
		if len(b.term) > 0 {
			t.Error("the second began before the first was told")
		}
		<-b.term
		if err := s.PutOutbox(held, []store.OutboxEvent{{Codebase: "c"}}); !errors.Is(err, context.Canceled) {
			t.Errorf("a write of the first: %v", err)
		}
		late := context.WithoutCancel(held)
		if err := s.PutOutbox(late, []store.OutboxEvent{{Codebase: "c"}}); !errors.Is(err, store.ErrFenced) {
			t.Errorf("a late write of the first: %v", err)
		}
		if err := errors.Join(a.stop(), b.stop()); err != nil {
			t.Error(err)
		}
	})
}

// What the function says while it holds the lease ends Keep.
func TestErrorsEndIt(t *testing.T) {
	t.Parallel()
	want := errors.New("broken")
	s := memstore.New(memstore.Options{})
	err := leasekeeper.Keep(t.Context(), s, leasekeeper.Options{Name: "x", Holder: "a"}, func(context.Context) error { return want })
	if !errors.Is(err, want) {
		t.Errorf("ended by %v", err)
	}
	if l, err := s.Acquire(t.Context(), "x", "b", time.Second); err != nil {
		t.Errorf("the lease is held: %v %v", l, err)
	}
}

// flaky is a store that is away while err is set.
type flaky struct {
	*memstore.Store
	err atomic.Pointer[error]
}

func (f *flaky) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	if err := f.err.Load(); err != nil {
		return store.Lease{}, *err
	}
	return f.Store.Acquire(ctx, name, holder, ttl)
}

// A holder that may linger goes on while the store is away, and with the same token when it
// is back; it ends when another took the lease meanwhile, or when the store refuses it.
func TestLinger(t *testing.T) {
	t.Parallel()
	away, refused := fmt.Errorf("dial: %w", store.ErrUnavailable), errors.New("a newer schema")
	for _, test := range []struct {
		name  string
		after *error // what the store says after a minute of being away; nil means it is back
		taken bool   // another takes the lease meanwhile
		lost  bool
	}{
		{"back", nil, false, false}, {"taken", nil, true, true}, {"refused", &refused, false, true}, {"away", &away, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &flaky{Store: memstore.New(memstore.Options{})}
				a := startAs(t, s, leasekeeper.Options{Name: "x", Holder: "a", Linger: true})
				held := <-a.term
				s.err.Store(&away)
				<-time.After(time.Minute)
				if held.Err() != nil {
					t.Fatalf("it ended while the store was away: %v", context.Cause(held))
				}
				if test.taken {
					_, err := s.Store.Acquire(t.Context(), "x", "b", time.Hour)
					if err != nil {
						t.Fatal(err)
					}
				}
				s.err.Store(test.after)
				<-time.After(time.Minute)
				if lost := errors.Is(context.Cause(held), leasekeeper.ErrLost); lost != test.lost {
					t.Errorf("lost %t, want %t", lost, test.lost)
				}
				if err := s.PutOutbox(context.WithoutCancel(held), []store.OutboxEvent{{Codebase: "c"}}); errors.Is(err, store.ErrFenced) != test.taken {
					t.Errorf("a write: %v", err)
				}
				if err := a.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

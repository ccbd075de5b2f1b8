package tenure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/tenure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is one that keeps the lease until stopped; term receives the context of each of
// its terms.
type process struct {
	term chan context.Context
	stop func() error
}

func start(t *testing.T, s tenure.Leaser, holder string) process {
	ctx, cancel := context.WithCancel(t.Context())
	p := process{term: make(chan context.Context, 10)}
	done := make(chan error, 1)
	go func() {
		done <- tenure.Keep(ctx, s, tenure.Options{Name: "x", Holder: holder}, func(ctx context.Context) error {
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
		if !errors.Is(context.Cause(held), tenure.ErrLost) {
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
	err := tenure.Keep(t.Context(), s, tenure.Options{Name: "x", Holder: "a"}, func(context.Context) error { return want })
	if !errors.Is(err, want) {
		t.Errorf("ended by %v", err)
	}
	if l, err := s.Acquire(t.Context(), "x", "b", time.Second); err != nil {
		t.Errorf("the lease is held: %v %v", l, err)
	}
}

// Package tenure keeps a lease for as long as it can: Keep waits until the lease is free,
// runs a function under its fence while it holds it, and waits again when it lost it. Any
// number of processes may keep the same lease; one of them at a time runs its function.
package tenure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
)

// Leaser hands out leases; a store.Writer is one.
type Leaser interface {
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error)
	Release(ctx context.Context, l store.Lease) error
}

// Options of Keep. Name and Holder are required; Holder is of one process and never used
// again.
type Options struct {
	Name, Holder string
	// TTL is how long the lease outlives its holder; 0 means 5 s. It is renewed, and asked
	// for, three times as often.
	TTL time.Duration
	// Linger leaves the function running while the store cannot be reached, beyond the end of
	// the lease: where it has more to do than to write, which the fence forbids once another
	// took the lease.
	Linger bool
	// OnHeld is told who holds the lease while it is another's; nil means nobody.
	OnHeld func(store.Lease)
	Log    *slog.Logger // nil means discard
}

func (o Options) withDefaults() Options {
	if o.TTL == 0 {
		o.TTL = 5 * time.Second
	}
	if o.OnHeld == nil {
		o.OnHeld = func(store.Lease) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// ErrLost is why the context of a function ends whose lease is gone.
var ErrLost = errors.New("the lease was lost")

// Keep runs fn whenever the lease is this process's, until ctx ends, and returns nil then.
// The context of fn carries the fence and ends when the lease is lost or cannot be renewed
// in time, unless it may linger; fn returns soon after. An error that fn returns while it holds the lease ends
// Keep. The lease is given back whenever fn returns.
func Keep(ctx context.Context, s Leaser, o Options, fn func(ctx context.Context) error) error {
	o = o.withDefaults()
	ticker := time.NewTicker(o.TTL / 3)
	defer ticker.Stop()
	for {
		asked := time.Now()
		lease, err := s.Acquire(ctx, o.Name, o.Holder, o.TTL)
		switch {
		case err == nil:
			if err := hold(ctx, s, o, lease, asked, fn); err != nil {
				return fmt.Errorf("under lease %s: %w", o.Name, err)
			}
		case errors.Is(err, store.ErrHeld):
			o.OnHeld(lease)
		case ctx.Err() == nil:
			o.Log.Warn("lease request failed", "lease", o.Name, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// hold runs fn and renews the lease meanwhile.
func hold(ctx context.Context, s Leaser, o Options, lease store.Lease, asked time.Time, fn func(ctx context.Context) error) error {
	o.Log.Info("lease taken", "lease", o.Name, "token", lease.Token)
	held, lose := context.WithCancelCause(store.WithFence(ctx, lease))
	var renewing sync.WaitGroup
	done := make(chan struct{})
	renewing.Go(func() { renew(held, s, o, lease, asked, lose, done) })
	err := fn(held)
	lost := errors.Is(context.Cause(held), ErrLost)
	close(done)
	renewing.Wait()
	lose(nil)
	if lost {
		o.Log.Warn("lease lost", "lease", o.Name, "token", lease.Token)
		return nil
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.TTL)
	defer cancel()
	if rerr := s.Release(release, lease); rerr != nil {
		o.Log.Warn("lease not given back", "lease", o.Name, "error", rerr) // it ends by itself
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// renew keeps the lease until done, and ends held when it cannot: because another took it,
// or because it could not be renewed before it ended by this process's own clock.
func renew(held context.Context, s Leaser, o Options, lease store.Lease, asked time.Time, lose context.CancelCauseFunc, done <-chan struct{}) {
	ticker, ends := time.NewTicker(o.TTL/3), time.NewTimer(time.Until(asked.Add(o.TTL)))
	defer ticker.Stop()
	defer ends.Stop()
	away, lingering := false, false // the store did not answer the last time; the lease has ended meanwhile
	for {
		select {
		case <-done:
			return
		case <-ends.C:
			if !o.Linger || !away {
				lose(ErrLost)
				return
			}
			lingering = true
			o.Log.Warn("the store is away; going on beyond the lease", "lease", o.Name, "token", lease.Token)
			continue
		case <-ticker.C:
		}
		at, until := time.Now(), asked.Add(o.TTL)
		if lingering {
			until = at.Add(o.TTL)
		}
		attempt, cancel := context.WithDeadline(held, until)
		renewed, err := s.Acquire(attempt, o.Name, o.Holder, o.TTL)
		away = errors.Is(err, store.ErrUnavailable) || attempt.Err() != nil
		cancel()
		switch {
		case err == nil && renewed.Token == lease.Token:
			asked, lingering = at, false
			ends.Reset(time.Until(asked.Add(o.TTL)))
		case err == nil, errors.Is(err, store.ErrHeld), lingering && !away:
			lose(ErrLost)
			return
		}
	}
}

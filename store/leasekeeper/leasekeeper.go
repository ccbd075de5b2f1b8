// Package leasekeeper runs a function under a lease (leader election): Keep waits until the
// lease is free, runs the function with the lease's fencing token while it renews the lease,
// and waits again after losing it. Any number of processes may keep the same lease; one of
// them at a time runs its function.
package leasekeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
)

// Leaser acquires and releases leases; a store.Writer is one.
type Leaser interface {
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error)
	Release(ctx context.Context, l store.Lease) error
}

// Options of Keep. Name and Holder are required; Holder identifies one process and must never
// be reused.
type Options struct {
	Name, Holder string
	// TTL is the time after its last renewal when the lease expires; 0 means 5 s. It is renewed,
	// and requested, at every third of it.
	TTL time.Duration
	// Linger lets the function run on beyond the end of the lease while the store cannot be
	// reached, for functions that do not only write: the fencing token prevents writes once
	// another process took the lease.
	Linger bool
	// OnHeld is called with the lease while another process holds it; nil means not called.
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

// ErrLost is the cancellation cause when the lease expires or is taken over.
var ErrLost = errors.New("the lease was lost")

// Keep runs fn whenever this process holds the lease, until ctx ends, and returns nil then. The
// context of fn carries the fencing token. It is canceled, with the cause ErrLost, when the
// lease is lost or cannot be renewed in time, unless Options.Linger; fn must return soon after.
// An error of fn while it holds the lease ends Keep. The lease is released when fn returns.
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
		o.Log.Warn("lease not released", "lease", o.Name, "error", rerr) // it expires by itself
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// renew renews the lease until done. It cancels held when another process took the lease, or
// when it could not be renewed before it expired by this process's clock.
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

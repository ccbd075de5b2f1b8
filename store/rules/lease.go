package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
)

// Acquire takes or renews a lease; see store.Writer.
func Acquire(ctx context.Context, rows LeaseRows, name, holder string, ttl time.Duration) (store.Lease, error) {
	lease, err := rows.Lease(ctx, name)
	if err != nil {
		return store.Lease{}, err
	}
	now, err := rows.Now(ctx)
	if err != nil {
		return store.Lease{}, err
	}
	now = Instant(now)
	if lease.Holder != "" && lease.Holder != holder && lease.Until.After(now) {
		return lease, fmt.Errorf("lease %s: %w", name, store.ErrHeld)
	}
	if lease.Holder != holder {
		lease.Token++
	}
	lease.Holder, lease.Until = holder, now.Add(ttl)
	return lease, rows.PutLease(ctx, lease)
}

// Release gives a lease back; see store.Writer.
func Release(ctx context.Context, rows LeaseRows, l store.Lease) error {
	held, err := rows.Lease(ctx, l.Name)
	if err != nil || held.Holder != l.Holder || held.Token != l.Token {
		return err
	}
	held.Holder, held.Until = "", time.Time{}
	return rows.PutLease(ctx, held)
}

// CheckFence refuses the write of a holder that was taken over: it compares the token of the
// lease under which ctx writes, if there is one, with what read says of that lease now.
func CheckFence(ctx context.Context, read func(name string) (store.Lease, error)) error {
	fence, ok := store.FenceOf(ctx)
	if !ok || fence.Name == "" {
		return nil
	}
	held, err := read(fence.Name)
	if err == nil && held.Token != fence.Token {
		err = fmt.Errorf("lease %s: %w", fence.Name, store.ErrFenced)
	}
	return err
}

// Unfenced is for the writes that make fences.
func Unfenced(ctx context.Context) context.Context {
	return store.WithFence(ctx, store.Lease{})
}

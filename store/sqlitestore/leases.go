package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
)

// Acquire takes or renews a lease.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	err = s.write(unfenced(ctx), func(c *session) error {
		if lease, err = c.lease(name); err != nil {
			return err
		}
		now := s.now().Round(0).UTC()
		if lease.Holder != "" && lease.Holder != holder && lease.Until.After(now) {
			return fmt.Errorf("lease %s: %w", name, store.ErrHeld)
		}
		if lease.Holder != holder {
			lease.Token++
		}
		lease.Holder, lease.Until = holder, now.Add(ttl)
		return c.setLease(lease)
	})
	return lease, err
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.write(unfenced(ctx), func(c *session) error {
		held, err := c.lease(l.Name)
		if err != nil || held.Holder != l.Holder || held.Token != l.Token {
			return err
		}
		held.Holder, held.Until = "", time.Time{}
		return c.setLease(held)
	})
}

// unfenced is for the writes that make fences.
func unfenced(ctx context.Context) context.Context {
	return store.WithFence(ctx, store.Lease{})
}

// checkFence refuses the write of a holder that was taken over.
func (c *session) checkFence(ctx context.Context) error {
	fence, ok := store.FenceOf(ctx)
	if !ok || fence.Name == "" {
		return nil
	}
	held, err := c.lease(fence.Name)
	if err == nil && held.Token != fence.Token {
		err = fmt.Errorf("lease %s: %w", fence.Name, store.ErrFenced)
	}
	return err
}

func (c *session) lease(name string) (store.Lease, error) {
	l := store.Lease{Name: name}
	value, err := c.meta("lease " + name)
	if err != nil || value == nil {
		return l, err
	}
	r := reader{buf: value}
	l.Holder, l.Token, l.Until = r.string(), r.uint(), r.time()
	return l, r.end("lease")
}

func (c *session) setLease(l store.Lease) error {
	var w writer
	w.string(l.Holder)
	w.uint(l.Token)
	w.time(l.Until)
	return c.setMeta("lease "+l.Name, w.buf)
}

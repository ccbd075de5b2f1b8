package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
)

// Acquire takes or renews a lease. Its time is that of the server, so that hosts whose
// clocks differ agree on it, unless the store was given a clock.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	err = s.write(unfenced(ctx), func(c *session) error {
		if _, err := c.exec(ctx, "INSERT INTO leases (tenant, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", name); err != nil {
			return fmt.Errorf("lease %s: %w", name, err)
		}
		if lease, err = c.lease(ctx, name, " FOR NO KEY UPDATE"); err != nil {
			return err
		}
		now, err := s.leaseTime(ctx, c)
		if err != nil {
			return err
		}
		if lease.Holder != "" && lease.Holder != holder && lease.Until.After(now) {
			return fmt.Errorf("lease %s: %w", name, store.ErrHeld)
		}
		if lease.Holder != holder {
			lease.Token++
		}
		lease.Holder, lease.Until = holder, now.Add(ttl)
		return c.setLease(ctx, lease)
	})
	return lease, err
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.write(unfenced(ctx), func(c *session) error {
		held, err := c.lease(ctx, l.Name, " FOR NO KEY UPDATE")
		if err != nil || held.Holder != l.Holder || held.Token != l.Token {
			return err
		}
		held.Holder, held.Until = "", time.Time{}
		return c.setLease(ctx, held)
	})
}

// leaseTime is the clock of the store.
func (s *Store) leaseTime(ctx context.Context, c *session) (time.Time, error) {
	if s.ownClock {
		return s.now().Round(0).UTC(), nil
	}
	var at time.Time
	if err := c.conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
		return at, fmt.Errorf("ask for the time: %w", err)
	}
	return at.UTC(), nil
}

// unfenced is for the writes that make fences.
func unfenced(ctx context.Context) context.Context {
	return store.WithFence(ctx, store.Lease{})
}

// checkFence refuses the write of a holder that was taken over.
func (c *session) checkFence(ctx context.Context, lock string) error {
	fence, ok := store.FenceOf(ctx)
	if !ok || fence.Name == "" {
		return nil
	}
	held, err := c.lease(ctx, fence.Name, lock)
	if err == nil && held.Token != fence.Token {
		err = fmt.Errorf("lease %s: %w", fence.Name, store.ErrFenced)
	}
	return err
}

func (c *session) lease(ctx context.Context, name, lock string) (store.Lease, error) {
	l := store.Lease{Name: name}
	var holder []byte
	var token int64
	var until *int64
	_, err := c.one(ctx, "SELECT holder, token, until FROM leases WHERE tenant = $1 AND name = $2"+lock, []any{name}, &holder, &token, &until)
	if err != nil {
		return l, fmt.Errorf("lease %s: %w", name, err)
	}
	l.Holder, l.Token, l.Until = string(holder), uint64(token), timeOf(until)
	return l, nil
}

func (c *session) setLease(ctx context.Context, l store.Lease) error {
	_, err := c.exec(ctx, "UPDATE leases SET holder = $3, token = $4, until = $5 WHERE tenant = $1 AND name = $2",
		l.Name, blob(l.Holder), int64(l.Token), instant(l.Until))
	if err != nil {
		return fmt.Errorf("lease %s: %w", l.Name, err)
	}
	return nil
}

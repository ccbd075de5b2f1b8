package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Acquire takes or renews a lease. Its time is that of the server, so that hosts whose
// clocks differ agree on it, unless the store was given a clock.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	err = s.change(rules.Unfenced(ctx), func(r rows) error {
		// There must be a row to be held.
		if _, err := r.c.exec(ctx, "INSERT INTO leases (tenant, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", name); err != nil {
			return fmt.Errorf("lease %s: %w", name, err)
		}
		lease, err = rules.Acquire(ctx, r, name, holder, ttl)
		return err
	})
	return lease, err
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.change(rules.Unfenced(ctx), func(r rows) error { return rules.Release(ctx, r, l) })
}

// Now is the clock of the store.
func (r rows) Now(ctx context.Context) (time.Time, error) {
	if r.s.ownClock {
		return r.s.now(), nil
	}
	var at time.Time
	if err := r.c.conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
		return at, fmt.Errorf("ask for the time: %w", err)
	}
	return at, nil
}

// checkFence refuses the write of a holder that was taken over.
func (c *tx) checkFence(ctx context.Context, lock string) error {
	return rules.CheckFence(ctx, func(name string) (store.Lease, error) { return c.lease(ctx, name, lock) })
}

// Lease returns a lease.
func (r rows) Lease(ctx context.Context, name string) (store.Lease, error) {
	return r.c.lease(ctx, name, r.lock)
}

func (c *tx) lease(ctx context.Context, name, lock string) (store.Lease, error) {
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

// PutLease writes a lease that has a row.
func (r rows) PutLease(ctx context.Context, l store.Lease) error {
	_, err := r.c.exec(ctx, "UPDATE leases SET holder = $3, token = $4, until = $5 WHERE tenant = $1 AND name = $2",
		l.Name, blob(l.Holder), int64(l.Token), instant(l.Until))
	if err != nil {
		return fmt.Errorf("lease %s: %w", l.Name, err)
	}
	return nil
}

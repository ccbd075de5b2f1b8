package memstore

import (
	"context"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Acquire takes or renews a lease.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	err = s.write(rules.Unfenced(ctx), func() error {
		lease, err = rules.Acquire(ctx, rows{s}, name, holder, ttl)
		return err
	})
	return lease, err
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.write(rules.Unfenced(ctx), func() error { return rules.Release(ctx, rows{s}, l) })
}

func (r rows) Lease(_ context.Context, name string) (store.Lease, error) {
	lease := r.s.leases[name]
	lease.Name = name
	return lease, nil
}

func (r rows) PutLease(_ context.Context, l store.Lease) error {
	r.s.leases[l.Name] = l
	return nil
}

func (r rows) Now(context.Context) (time.Time, error) { return r.s.now(), nil }

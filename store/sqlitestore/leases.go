package sqlitestore

import (
	"context"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Acquire takes or renews a lease.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	err = s.change(rules.Unfenced(ctx), func(r *rows) error {
		lease, err = rules.Acquire(ctx, r, name, holder, ttl)
		return err
	})
	return lease, err
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.change(rules.Unfenced(ctx), func(r *rows) error { return rules.Release(ctx, r, l) })
}

// Lease returns a lease.
func (r *rows) Lease(_ context.Context, name string) (store.Lease, error) { return r.c.lease(name) }

// PutLease writes a lease.
func (r *rows) PutLease(_ context.Context, l store.Lease) error {
	var w writer
	w.string(l.Holder)
	w.uint(l.Token)
	w.time(l.Until)
	return r.c.setMeta("lease "+l.Name, w.buf)
}

// Now is the time by which leases end.
func (r *rows) Now(context.Context) (time.Time, error) { return r.s.now(), nil }

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

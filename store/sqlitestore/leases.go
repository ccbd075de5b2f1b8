package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
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

var putLease = put("leases", leaseColumns, 1)

// PutLease writes a lease.
func (r *rows) PutLease(_ context.Context, l store.Lease) error { return r.c.putLease(l) }

func (c *session) putLease(l store.Lease) error {
	var w columns
	w.text(l.Name)
	w.bytes(l.Holder)
	w.uint(l.Token)
	w.time(l.Until)
	if err := c.exec(putLease, w.summed("leases")...); err != nil {
		return fmt.Errorf("lease %s: %w", l.Name, err)
	}
	return nil
}

// Now is the time by which leases end.
func (r *rows) Now(context.Context) (time.Time, error) { return r.s.now(), nil }

func (c *session) lease(name string) (store.Lease, error) {
	l := store.Lease{Name: name}
	r := newRecord("leases", leaseColumns)
	err := c.each("SELECT "+leaseColumns+" FROM leases WHERE name = ?", []any{name}, func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		l = store.Lease{Name: r.text(), Holder: r.bytes(), Token: r.uint(), Until: r.time()}
		return r.end()
	})
	if err != nil {
		return l, fmt.Errorf("lease %s: %w", name, err)
	}
	return l, nil
}

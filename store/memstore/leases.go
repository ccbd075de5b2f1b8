package memstore

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
)

// Acquire takes or renews a lease.
func (s *Store) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return store.Lease{}, err
	}
	now := instant(s.now())
	held, ok := s.leases[name]
	if ok && held.Holder != holder && held.Until.After(now) {
		return held, fmt.Errorf("lease %s: %w", name, store.ErrHeld)
	}
	if held.Holder != holder {
		held.Token++
	}
	held.Name, held.Holder, held.Until = name, holder, now.Add(ttl)
	s.leases[name] = held
	return held, nil
}

// Release gives a lease back.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	if held := s.leases[l.Name]; held.Holder == l.Holder && held.Token == l.Token {
		held.Holder, held.Until = "", time.Time{}
		s.leases[l.Name] = held
	}
	return nil
}

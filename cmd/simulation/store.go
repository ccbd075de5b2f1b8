package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

// errCrashed is what a process gets from store and log once it has crashed: nothing of it
// reaches them any more.
var errCrashed = errors.New("the process has crashed")

// processStore is the store as one process sees it: it may crash at each of its writes,
// before or after the commit.
type processStore struct {
	*memstore.Store
	process *process
}

// commit runs one transaction. Only some may take time: virtual time stands still while a
// goroutine waits for a mutex, so that nobody may sleep who holds one.
func (s *processStore) commit(ctx context.Context, takesTime bool, write func() error) error {
	p := s.process
	if takesTime {
		if err := p.world.pace(ctx, "before a write"); err != nil {
			return err
		}
	}
	before, after := p.nextWrite()
	if p.dead() || before {
		p.die()
		return errCrashed
	}
	err := write()
	p.world.wrote(s.Store)
	if after {
		p.die()
		return errCrashed
	}
	if takesTime && err == nil {
		return p.world.pace(ctx, "after a write")
	}
	return err
}

// Content returns a content unless its row is damaged.
func (s *processStore) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	if err := s.process.world.damage(h); err != nil {
		return nil, fmt.Errorf("content %s: %w", h.Short(), err)
	}
	return s.Store.Content(ctx, h)
}

// HasContents leaves out the contents whose rows are lost.
func (s *processStore) HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	has, err := s.Store.HasContents(ctx, hashes)
	for h := range has {
		if errors.Is(s.process.world.damage(h), store.ErrNotFound) {
			delete(has, h)
		}
	}
	return has, err
}

// PutContents makes good what was damaged.
func (s *processStore) PutContents(ctx context.Context, contents []store.Content) error {
	return s.commit(ctx, false, func() error {
		err := s.Store.PutContents(ctx, contents)
		if err == nil {
			s.process.world.mend(contents)
		}
		return err
	})
}

// Discard drops damaged rows.
func (s *processStore) Discard(ctx context.Context, d store.Damage) error {
	return s.commit(ctx, false, func() error {
		err := s.Store.Discard(ctx, d)
		if err == nil {
			s.process.world.discarded(d.Contents)
		}
		return err
	})
}

// Open opens a snapshot.
func (s *processStore) Open(ctx context.Context, o store.Opening) (opened store.Snapshot, err error) {
	err = s.commit(ctx, true, func() error {
		for _, f := range o.Upserts {
			if errors.Is(s.process.world.damage(f.Content), store.ErrNotFound) {
				return fmt.Errorf("open: %w", store.ErrIncomplete)
			}
		}
		opened, err = s.Store.Open(ctx, o)
		return err
	})
	return opened, err
}

// PutSyntax stores syntaxes.
func (s *processStore) PutSyntax(ctx context.Context, records []store.SyntaxRecord) error {
	return s.commit(ctx, true, func() error { return s.Store.PutSyntax(ctx, records) })
}

// PutVectors stores vectors.
func (s *processStore) PutVectors(ctx context.Context, embedding string, vectors []store.VectorRecord, done []store.SyntaxKey) error {
	return s.commit(ctx, true, func() error { return s.Store.PutVectors(ctx, embedding, vectors, done) })
}

// Register adds a codebase.
func (s *processStore) Register(ctx context.Context, c store.Codebase) (made store.Codebase, err error) {
	err = s.commit(ctx, false, func() error {
		made, err = s.Store.Register(ctx, c)
		return err
	})
	return made, err
}

// PutStats changes stat entries.
func (s *processStore) PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	return s.commit(ctx, false, func() error { return s.Store.PutStats(ctx, id, upserts, removes) })
}

// Abandon gives up a snapshot.
func (s *processStore) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.commit(ctx, false, func() error { return s.Store.Abandon(ctx, id, number) })
}

// PutSegment stores a segment.
func (s *processStore) PutSegment(ctx context.Context, id store.CodebaseID, files, chunks int, data []byte) (made store.SegmentID, err error) {
	err = s.commit(ctx, false, func() error {
		made, err = s.Store.PutSegment(ctx, id, files, chunks, data)
		return err
	})
	return made, err
}

// Seal makes a snapshot current.
func (s *processStore) Seal(ctx context.Context, seal store.Seal) error {
	return s.commit(ctx, false, func() error { return s.Store.Seal(ctx, seal) })
}

// ReplaceSegments swaps segments.
func (s *processStore) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.commit(ctx, false, func() error { return s.Store.ReplaceSegments(ctx, id, number, from, to) })
}

// RecordFailure adds a try.
func (s *processStore) RecordFailure(ctx context.Context, f store.Failure, park bool, announce func(store.Failure) (store.OutboxEvent, error)) (recorded store.Failure, err error) {
	err = s.commit(ctx, false, func() error {
		recorded, err = s.Store.RecordFailure(ctx, f, park, announce)
		return err
	})
	return recorded, err
}

// ForgetFailures removes failures.
func (s *processStore) ForgetFailures(ctx context.Context, id store.CodebaseID, path string) (parked []store.Failure, err error) {
	err = s.commit(ctx, false, func() error {
		parked, err = s.Store.ForgetFailures(ctx, id, path)
		return err
	})
	return parked, err
}

// PutOutbox commits events.
func (s *processStore) PutOutbox(ctx context.Context, events []store.OutboxEvent) error {
	return s.commit(ctx, false, func() error { return s.Store.PutOutbox(ctx, events) })
}

// MarkPublished takes events out of the outbox.
func (s *processStore) MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error {
	return s.commit(ctx, false, func() error { return s.Store.MarkPublished(ctx, events, at) })
}

// SetLogPosition records the log position.
func (s *processStore) SetLogPosition(ctx context.Context, at store.LogPosition) error {
	return s.commit(ctx, false, func() error { return s.Store.SetLogPosition(ctx, at) })
}

// Acquire takes a lease, unless the process stands still.
func (s *processStore) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease store.Lease, err error) {
	if err := s.process.standStill(ctx); err != nil {
		return lease, err
	}
	err = s.commit(ctx, false, func() error {
		lease, err = s.Store.Acquire(ctx, name, holder, ttl)
		return err
	})
	return lease, err
}

// Collect removes what is not retained.
func (s *processStore) Collect(ctx context.Context, r store.Retention) (collected store.Collected, err error) {
	err = s.commit(ctx, false, func() error {
		collected, err = s.Store.Collect(ctx, r)
		return err
	})
	return collected, err
}

var (
	_ store.Store = (*processStore)(nil)
	_ bus.Bus     = (*processLog)(nil)
)

package membus

import (
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/freshet/freshet/pipeline/bus"
)

// after returns the first message with a sequence of at least from. mu is held.
func (b *Bus) after(from uint64) (bus.Stored, bool) {
	i := sort.Search(len(b.log), func(i int) bool { return b.log[i].Sequence >= from })
	if i == len(b.log) {
		return bus.Stored{}, false
	}
	s := b.log[i]
	s.Data = slices.Clone(s.Data)
	return s, true
}

// Read implements bus.Bus.
func (b *Bus) Read(ctx context.Context, from, to uint64, fn func(bus.Stored) error) error {
	for first := true; ; first = false {
		if err := b.enter(ctx); err != nil {
			return err
		}
		if first && to == 0 {
			to = b.last
		}
		s, ok := b.after(from)
		b.mu.Unlock()
		if !ok || s.Sequence > to {
			return nil
		}
		if err := fn(s); err != nil {
			return err
		}
		from = s.Sequence + 1
	}
}

// Follow implements bus.Bus.
func (b *Bus) Follow(ctx context.Context, from uint64, fn func(bus.Stored) error) error {
	incarnation := ""
	for ctx.Err() == nil {
		err := b.enter(ctx)
		if errors.Is(err, bus.ErrClosed) {
			return err
		}
		if err != nil {
			continue // ctx has ended
		}
		if incarnation != "" && incarnation != b.incarnation {
			from = 1
		}
		incarnation = b.incarnation
		s, ok := b.after(from)
		changed := b.changed
		b.mu.Unlock()
		if !ok {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		if err := fn(s); err != nil {
			return err
		}
		from = s.Sequence + 1
	}
	return nil
}

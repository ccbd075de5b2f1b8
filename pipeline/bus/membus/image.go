package membus

import (
	"maps"
	"slices"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
)

// Image is a copy of a log and its consumers, like a backup of its files.
type Image struct {
	incarnation string
	log         []bus.Stored
	last, bytes uint64
	byID        map[string]published
	consumers   map[string]*consumer
}

// Image returns a copy of the log.
func (b *Bus) Image() Image {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Image{
		incarnation: b.incarnation, log: slices.Clone(b.log), last: b.last, bytes: b.bytes,
		byID: maps.Clone(b.byID), consumers: copyConsumers(b.consumers),
	}
}

// PutBack restores a copy of the log. Deliveries under way are canceled; those that were in
// flight when the copy was made are redelivered at once.
func (b *Bus) PutBack(i Image) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.consumers {
		c.abandon()
	}
	b.incarnation, b.log, b.last, b.bytes = i.incarnation, slices.Clone(i.log), i.last, i.bytes
	b.byID, b.consumers = maps.Clone(i.byID), copyConsumers(i.consumers)
	b.wake()
}

// Truncate drops the messages after a sequence, like damage of the last block of a log: the
// consumers' acknowledged sequences stay.
func (b *Bus) Truncate(last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.log) > 0 && b.log[len(b.log)-1].Sequence > last {
		lost := b.log[len(b.log)-1]
		b.log = b.log[:len(b.log)-1]
		b.bytes -= uint64(len(lost.Data))
		delete(b.byID, lost.ID)
	}
	b.last = min(b.last, last)
	b.wake()
}

// copyConsumers copies consumers without the handlers that have their messages.
func copyConsumers(consumers map[string]*consumer) map[string]*consumer {
	out := make(map[string]*consumer, len(consumers))
	for name, c := range consumers {
		twin := *c
		twin.pending = make(map[uint64]*pending, len(c.pending))
		for sequence, p := range c.pending {
			q := &pending{stored: p.stored, tries: p.tries, due: p.due}
			if p.cancel != nil {
				q.due = time.Time{}
			}
			twin.pending[sequence] = q
		}
		out[name] = &twin
	}
	return out
}

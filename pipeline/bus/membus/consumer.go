package membus

import (
	"slices"
	"sort"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
)

// consumer is a durable consumer of one incarnation. The bus's mutex guards it.
type consumer struct {
	lanes     []bus.Lane
	cursor    uint64 // the last sequence looked at for a first delivery
	delivered uint64 // the last sequence delivered
	pending   map[uint64]*pending
	obsolete  uint64
	gone      bool
}

// pending is a message that was delivered and not yet acknowledged.
type pending struct {
	stored bus.Stored
	tries  int
	due    time.Time // when it is redelivered
	cancel func()    // ends the handler's context; nil while it waits
}

func (c *consumer) state(log []bus.Stored) bus.ConsumerState {
	s := bus.ConsumerState{AckFloor: c.delivered, InFlight: len(c.pending), Obsolete: c.obsolete}
	for sequence, p := range c.pending {
		s.AckFloor = min(s.AckFloor, sequence-1)
		if p.tries > 1 {
			s.Redelivers++
		}
	}
	for _, m := range log {
		if m.Sequence > c.cursor && slices.Contains(c.lanes, m.Lane) {
			s.Pending++
		}
	}
	return s
}

// forget drops a message that was purged, unless a handler has it.
func (c *consumer) forget(sequence uint64) {
	if p := c.pending[sequence]; p != nil && p.cancel == nil {
		delete(c.pending, sequence)
	}
}

// abandon cancels every delivery, because the incarnation has ended.
func (c *consumer) abandon() {
	c.gone = true
	for _, p := range c.pending {
		if p.cancel != nil {
			p.cancel()
		}
	}
}

// next returns the message to deliver now: one whose delay has passed, else the next new one.
// When there is none it returns nil and the time until the next delay passes, 0 without one.
func (c *consumer) next(log []bus.Stored, now time.Time) (*pending, time.Duration) {
	var best *pending
	var wait time.Duration
	for _, p := range c.pending {
		if p.cancel != nil {
			continue
		}
		if left := p.due.Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		if best == nil || p.stored.Sequence < best.stored.Sequence {
			best = p
		}
	}
	if best != nil {
		best.tries++
		return best, 0
	}
	i := sort.Search(len(log), func(i int) bool { return log[i].Sequence > c.cursor })
	for ; i < len(log); i++ {
		c.cursor = log[i].Sequence
		if slices.Contains(c.lanes, log[i].Lane) {
			p := &pending{stored: log[i], tries: 1}
			c.pending[c.cursor] = p
			c.delivered = c.cursor
			return p, 0
		}
	}
	return nil, wait
}

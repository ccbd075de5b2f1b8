// Package membus keeps the event log in memory, for tests and for work that need not survive
// the process. It passes the suite of bustest like natsbus.
package membus

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// Bus is an event log in memory. Make one with New or NewLimited.
type Bus struct {
	maxBytes uint64
	done     chan struct{}  // closed by Close
	running  sync.WaitGroup // calls of Consume

	mu          sync.Mutex // guards all below
	changed     chan struct{}
	closed      bool
	incarnation string
	log         []bus.Stored // by sequence
	last        uint64
	bytes       uint64
	byID        map[string]published // by message ID, the last one of each
	consumers   map[string]*consumer
	letters     []bus.DeadLetter
	lastLetter  uint64
}

// published is the sequence and time of the last message of an ID.
type published struct {
	sequence uint64
	at       time.Time
}

// dedupeWindow is how long a message's ID is remembered to drop duplicates, as in natsbus.
const dedupeWindow = 2 * time.Minute

var _ bus.Bus = (*Bus)(nil)

// New returns an empty log without a limit.
func New() *Bus { return NewLimited(0) }

// NewLimited returns an empty log that refuses messages beyond a number of bytes.
func NewLimited(maxBytes uint64) *Bus {
	b := &Bus{maxBytes: maxBytes, done: make(chan struct{}), changed: make(chan struct{})}
	b.begin()
	return b
}

// begin begins a new, empty incarnation.
func (b *Bus) begin() {
	b.incarnation = rand.Text()
	b.log, b.last, b.bytes = nil, 0, 0
	b.byID = map[string]published{}
	for _, c := range b.consumers {
		c.abandon()
	}
	b.consumers = map[string]*consumer{}
}

// wake wakes all waiting calls. mu is held.
func (b *Bus) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// enter locks mu for a method; with an error it does not.
func (b *Bus) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return bus.ErrClosed
	}
	return nil
}

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error) {
	if err := bus.CheckBatch(messages); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	var fresh []bus.Message
	var size uint64
	last, now := uint64(0), time.Now()
	for _, m := range messages {
		if p, ok := b.byID[m.ID]; ok && now.Sub(p.at) < dedupeWindow {
			last = max(last, p.sequence)
			continue
		}
		fresh = append(fresh, m)
		size += uint64(len(m.Data))
	}
	if len(fresh) == 0 {
		return last, nil
	}
	id, lane := messages[0].Codebase, messages[0].Lane
	if guard != nil && *guard != b.lastOf(id, lane) {
		return 0, fmt.Errorf("publish to %s/%s: %w", id, lane, bus.ErrGuard)
	}
	if b.maxBytes > 0 && b.bytes+size > b.maxBytes {
		return 0, fmt.Errorf("publish to %s/%s: %w", id, lane, bus.ErrFull)
	}
	for _, m := range fresh {
		b.append(m)
	}
	b.wake()
	return b.last, nil
}

func (b *Bus) append(m bus.Message) {
	b.last++
	m.Data = slices.Clone(m.Data)
	now := time.Now()
	b.log = append(b.log, bus.Stored{Message: m, Sequence: b.last, At: now.UTC()})
	b.bytes += uint64(len(m.Data))
	b.byID[m.ID] = published{b.last, now}
}

func (b *Bus) lastOf(id store.CodebaseID, lane bus.Lane) uint64 {
	for _, s := range slices.Backward(b.log) {
		if s.Codebase == id && s.Lane == lane {
			return s.Sequence
		}
	}
	return 0
}

// LastOf implements bus.Bus.
func (b *Bus) LastOf(ctx context.Context, id store.CodebaseID, lane bus.Lane) (uint64, error) {
	if err := bus.CheckSubject(id, lane); err != nil {
		return 0, fmt.Errorf("last of lane: %w", err)
	}
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	return b.lastOf(id, lane), nil
}

// State implements bus.Bus.
func (b *Bus) State(ctx context.Context) (bus.State, error) {
	if err := b.enter(ctx); err != nil {
		return bus.State{}, err
	}
	defer b.mu.Unlock()
	return b.state(), nil
}

func (b *Bus) state() bus.State {
	s := bus.State{
		Incarnation: b.incarnation, First: b.last + 1, Last: b.last,
		Messages: uint64(len(b.log)), Bytes: b.bytes,
		Consumers: make(map[string]bus.ConsumerState, len(b.consumers)),
	}
	if len(b.log) > 0 {
		s.First = b.log[0].Sequence
	}
	for name, c := range b.consumers {
		s.Consumers[name] = c.state(b.log)
	}
	return s
}

// Purge implements bus.Bus.
func (b *Bus) Purge(ctx context.Context, id store.CodebaseID, below uint64) error {
	if err := bus.CheckSubject(id, bus.LaneSync); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.mu.Unlock()
	b.log = slices.DeleteFunc(b.log, func(s bus.Stored) bool {
		if s.Codebase != id || (below != 0 && s.Sequence >= below) {
			return false
		}
		b.bytes -= uint64(len(s.Data))
		delete(b.byID, s.ID)
		for _, c := range b.consumers {
			c.forget(s.Sequence)
		}
		return true
	})
	b.wake()
	return nil
}

// MessageCounts implements bus.Bus.
func (b *Bus) MessageCounts(ctx context.Context) (map[store.CodebaseID]uint64, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	held := map[store.CodebaseID]uint64{}
	for _, s := range b.log {
		held[s.Codebase]++
	}
	return held, nil
}

// Reset implements bus.Bus.
func (b *Bus) Reset(ctx context.Context) (bus.State, error) {
	if err := b.enter(ctx); err != nil {
		return bus.State{}, err
	}
	defer b.mu.Unlock()
	b.begin()
	b.wake()
	return b.state(), nil
}

// Close implements bus.Bus.
func (b *Bus) Close() error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.done)
		b.wake()
	}
	b.mu.Unlock()
	b.running.Wait()
	return nil
}

// Package outbox publishes the events that were committed together with the rows they
// speak of. What a crash left unpublished is published by the next Flush; message ids make
// a repeat harmless.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// Log is the part of bus.Bus that a pump needs.
type Log interface {
	Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error)
	LastOf(ctx context.Context, id store.CodebaseID, lane bus.Lane) (uint64, error)
	State(ctx context.Context) (bus.State, error)
}

// Store is the part of a store that a pump needs.
type Store interface {
	Outbox(ctx context.Context, limit int) ([]store.OutboxEvent, error)
	MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error
}

// Pump moves committed events from the store to the log. It may be used from several
// goroutines.
type Pump struct {
	store  Store
	log    Log
	slog   *slog.Logger
	shared bool

	mu          sync.Mutex // one flush at a time; guards incarnation
	incarnation string

	waiting atomic.Pointer[wait]
}

// wait is since when the log does not take what is being published, and why if it said so.
type wait struct {
	since time.Time
	err   error
}

// Waiting tells since when the log has not taken the events that are to be published, and
// why if it is known. ok is false when nothing waits.
func (p *Pump) Waiting() (since time.Time, cause error, ok bool) {
	w := p.waiting.Load()
	if w == nil {
		return time.Time{}, nil, false
	}
	return w.since, w.err, true
}

// Share makes the pump ask for the log's incarnation at each publish, because another
// process may make the log anew. It is called before the first Flush.
func (p *Pump) Share() { p.shared = true }

// New returns a pump. logger nil means discard.
func New(s Store, l Log, logger *slog.Logger) *Pump {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Pump{store: s, log: l, slog: logger}
}

// pageSize is how many events are read from the outbox at once.
const pageSize = bus.MaxBatch

// Flush publishes everything in the outbox, in the order it was committed. It pauses while
// the log is full. A codebase's events go out guarded by the last sequence of its lane, so
// that a second publisher is noticed.
func (p *Pump) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		events, err := p.store.Outbox(ctx, pageSize)
		if err != nil {
			return fmt.Errorf("read outbox: %w", err)
		}
		if len(events) == 0 {
			p.waiting.Store(nil) // another process may have published what waited
			return nil
		}
		messages, unreadable := messagesOf(events)
		for len(messages) > 0 {
			run := firstRun(messages)
			if err := p.publish(ctx, events[:run], messages[:run]); err != nil {
				return err
			}
			events, messages = events[run:], messages[run:]
		}
		if unreadable != nil {
			return unreadable
		}
	}
}

// Forget makes the pump ask for the log's incarnation again, after a reset.
func (p *Pump) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.incarnation = ""
}

// messagesOf makes the messages of events, up to the first that cannot be read.
func messagesOf(events []store.OutboxEvent) ([]bus.Message, error) {
	messages := make([]bus.Message, 0, len(events))
	for _, o := range events {
		e, err := event.Decode(o.Data)
		if err != nil {
			return messages, fmt.Errorf("decode outbox event %s/%d/%d: %w", o.Codebase, o.Snapshot, o.Part, err)
		}
		messages = append(messages, bus.Message{Codebase: o.Codebase, Lane: LaneOf(e), ID: e.ID(), Data: o.Data})
	}
	return messages, nil
}

// firstRun returns how many leading messages belong to one codebase and lane.
func firstRun(messages []bus.Message) int {
	for i, m := range messages {
		if m.Codebase != messages[0].Codebase || m.Lane != messages[0].Lane {
			return i
		}
	}
	return len(messages)
}

// LaneOf returns the lane on which an event travels.
func LaneOf(e event.Event) bus.Lane {
	switch e.Type {
	case event.FilesChanged:
		if e.Bulk() {
			return bus.LaneBulk
		}
	case event.FilesChunked:
		if e.Bulk() {
			return bus.LaneBulkChunk
		}
		return bus.LaneChunk
	case event.FilesEmbedded:
		return bus.LaneEmbed
	case event.SnapshotSealed, event.FileParked, event.FileUnparked:
		return bus.LaneApply
	}
	return bus.LaneSync
}

func (p *Pump) publish(ctx context.Context, events []store.OutboxEvent, messages []bus.Message) error {
	p.waiting.CompareAndSwap(nil, &wait{since: time.Now()})
	sequence, err := p.send(ctx, messages)
	if err != nil {
		p.waiting.Store(&wait{since: p.waiting.Load().since, err: err})
		return fmt.Errorf("publish %d events of %s: %w", len(events), events[0].Codebase, err)
	}
	if p.incarnation == "" || p.shared {
		if p.incarnation, err = p.whichLog(ctx); err != nil {
			p.waiting.Store(&wait{since: p.waiting.Load().since, err: err})
			return fmt.Errorf("inspect log: %w", err)
		}
	}
	p.waiting.Store(nil)
	at := store.LogPosition{Incarnation: p.incarnation, Sequence: sequence}
	if err := p.store.MarkPublished(ctx, events, at); err != nil {
		return fmt.Errorf("mark published: %w", err)
	}
	return nil
}

// errAnew: what was published may be gone with the log that it was in.
var errAnew = errors.New("it is being made anew")

// whichLog returns the log's incarnation, and waits a moment for one that another process
// makes anew.
func (p *Pump) whichLog(ctx context.Context) (string, error) {
	for pause := fullPause; ; pause *= 2 {
		state, err := p.log.State(ctx)
		if err != nil || state.Incarnation != "" {
			return state.Incarnation, err
		}
		if pause > fullPauseMax {
			return "", errAnew
		}
		if err := bus.Pause(ctx, pause); err != nil {
			return "", err
		}
	}
}

// The pauses of a publisher that meets a full log.
const (
	fullPause    = 50 * time.Millisecond
	fullPauseMax = 2 * time.Second
	guardTries   = 5
)

func (p *Pump) send(ctx context.Context, messages []bus.Message) (uint64, error) {
	id, lane := messages[0].Codebase, messages[0].Lane
	pause := fullPause
	for tries := 0; ; {
		last, err := p.log.LastOf(ctx, id, lane)
		if err != nil {
			return 0, err
		}
		sequence, err := p.log.Publish(ctx, messages, &last)
		switch {
		case err == nil:
			return sequence, nil
		case errors.Is(err, bus.ErrGuard) && tries < guardTries:
			tries++ // the stages share the apply lane; the sync lane has one publisher
			p.slog.Debug("publisher overtaken", "codebase", id, "lane", lane)
			continue
		case !errors.Is(err, bus.ErrFull):
			return 0, err
		}
		p.waiting.Store(&wait{since: p.waiting.Load().since, err: err})
		p.slog.Warn("log is full, pausing", "codebase", id, "pause", pause)
		if err := bus.Pause(ctx, pause); err != nil {
			return 0, err
		}
		pause = min(2*pause, fullPauseMax)
	}
}

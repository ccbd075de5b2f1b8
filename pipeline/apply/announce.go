package apply

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// header is what every event about a snapshot begins with.
func (s *Sealer) header(snapshot store.Snapshot) event.Event {
	return event.Event{Codebase: snapshot.Codebase, Snapshot: snapshot.Number, Fingerprint: s.fingerprint, At: s.opts.Now()}
}

// sealedEvent says that a snapshot was sealed.
func (s *Sealer) sealedEvent(ctx context.Context, snapshot store.Snapshot, level store.Level) (store.OutboxEvent, error) {
	failures, err := s.store.Failures(ctx, snapshot.Codebase)
	if err != nil {
		return store.OutboxEvent{}, outage(err)
	}
	parked := 0
	for _, f := range failures {
		if f.Parked {
			parked++
		}
	}
	e := event.SealedAt(
		s.header(snapshot), event.Sealed{Root: snapshot.Root, Level: level.String(), Files: snapshot.Files, Parked: parked})
	return outboxEvent(e)
}

// again publishes the events of work that is to be made again.
func (s *Sealer) again(ctx context.Context, snapshot store.Snapshot, entries []store.FileEntry) error {
	files := make([]event.File, len(entries))
	for i, e := range entries {
		files[i] = event.FileOf(e)
	}
	return s.announce(ctx, event.Again(s.header(snapshot), files))
}

// parkedEvent makes the event that says that a file of a snapshot was parked.
func (s *Sealer) parkedEvent(snapshot store.Snapshot) func(store.Failure) (store.OutboxEvent, error) {
	return func(f store.Failure) (store.OutboxEvent, error) {
		return outboxEvent(event.ParkedFile(s.header(snapshot), event.ParkedBy(f)))
	}
}

// announce commits events and publishes them.
func (s *Sealer) announce(ctx context.Context, events []event.Event) error {
	out := make([]store.OutboxEvent, len(events))
	for i, e := range events {
		var err error
		if out[i], err = outboxEvent(e); err != nil {
			return err
		}
	}
	if err := s.store.PutOutbox(ctx, out); err != nil {
		return outage(err)
	}
	return outage(s.opts.Outbox.Flush(ctx))
}

func outboxEvent(e event.Event) (store.OutboxEvent, error) {
	data, err := event.Encode(e)
	if err != nil {
		return store.OutboxEvent{}, fmt.Errorf("encode %s: %w", e.Type, err)
	}
	return store.OutboxEvent{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data}, nil
}

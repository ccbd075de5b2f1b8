package natsbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// LastOf implements bus.Bus.
func (b *Bus) LastOf(ctx context.Context, id store.CodebaseID, lane bus.Lane) (uint64, error) {
	if err := bus.CheckSubject(id, lane); err != nil {
		return 0, fmt.Errorf("last of lane: %w", err)
	}
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	raw, err := b.current().stream.GetLastMsgForSubject(ctx, b.subject(id, lane))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last of %s/%s: %w", id, lane, err)
	}
	return raw.Sequence, nil
}

// Read implements bus.Bus.
func (b *Bus) Read(ctx context.Context, from, to uint64, fn func(bus.Stored) error) error {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	log := b.current()
	info, err := log.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	from = max(from, info.State.FirstSeq, 1)
	if to == 0 || to > info.State.LastSeq {
		to = info.State.LastSeq
	}
	if from > to || info.State.Msgs == 0 {
		return nil
	}
	_, err = b.scan(ctx, from, to, fn)
	if err != nil && ended(ctx) != nil {
		return ended(ctx)
	}
	return err
}

// Follow implements bus.Bus.
func (b *Bus) Follow(ctx context.Context, from uint64, fn func(bus.Stored) error) error {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	from = max(from, 1)
	for log, tries := b.current(), 1; ctx.Err() == nil; tries++ {
		next, err := b.followOnce(ctx, log, from, fn)
		var own *ownError
		if errors.As(err, &own) {
			return own.err
		}
		if next > from {
			from, tries = next, 1
		}
		if now := b.current(); now != log {
			log, from, tries = now, 1, 1
			continue
		}
		b.rest(ctx, log, tries)
	}
	return ended(ctx)
}

// followOnce follows one incarnation.
func (b *Bus) followOnce(ctx context.Context, log *incarnation, from uint64, fn func(bus.Stored) error) (uint64, error) {
	ctx, leave, err := log.calls.join(ctx)
	if err != nil {
		return from, err
	}
	defer leave()
	return b.scan(ctx, from, 0, fn)
}

// ownError is an error of the function that reads.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }

// scan calls fn for the messages of [from, to], or with to 0 until ctx ends. It returns
// the sequence to go on with.
func (b *Bus) scan(ctx context.Context, from, to uint64, fn func(bus.Stored) error) (uint64, error) {
	consumer, err := b.js.OrderedConsumer(ctx, b.wantedLog().Name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   from,
	})
	if err != nil {
		return from, fmt.Errorf("read log: %w", err)
	}
	if to != 0 && consumer.CachedInfo().NumPending == 0 {
		return from, nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return from, fmt.Errorf("read log: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := nextOf(ctx, messages, to != 0)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			if info, infoErr := consumer.Info(ctx); infoErr != nil || info.NumPending > 0 {
				continue
			}
			return from, nil // what was still to come has been purged
		}
		if err != nil {
			return from, fmt.Errorf("read log: %w", err)
		}
		d, err := b.delivery(msg)
		if err != nil {
			return from, fmt.Errorf("read log: %w", err)
		}
		if to != 0 && d.Sequence > to {
			return from, nil
		}
		if err := fn(d.Stored); err != nil {
			return from, &ownError{err}
		}
		from = d.Sequence + 1
		meta, err := msg.Metadata()
		if err != nil {
			return from, fmt.Errorf("read log: %w", err)
		}
		if to != 0 && (from > to || meta.NumPending == 0) {
			return from, nil
		}
	}
}

// patience is how long a bounded reading waits before it asks whether more is to come.
const patience = 2 * time.Second

func nextOf(ctx context.Context, messages jetstream.MessagesContext, bounded bool) (jetstream.Msg, error) {
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	return messages.Next(jetstream.NextContext(ctx))
}

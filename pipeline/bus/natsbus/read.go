package natsbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// LastOf implements bus.Bus.
func (b *Bus) LastOf(ctx context.Context, id store.CodebaseID, lane bus.Lane) (uint64, error) {
	if err := bus.CheckSubject(id, lane); err != nil {
		return 0, fmt.Errorf("last of lane: %w", err)
	}
	ctx, leave, err := b.join(ctx)
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
	for {
		from, err = b.scan(ctx, log, jetstream.ConsumerConfig{OptStartSeq: from}, to, fn)
		var own *callbackError
		switch {
		case errors.As(err, &own):
			return own.err
		case err == nil:
			return nil
		case ended(ctx) != nil:
			return ended(ctx)
		case !errors.Is(err, errMessagesLost):
			return fmt.Errorf("read log: %w", err)
		}
	}
}

// Follow implements bus.Bus.
func (b *Bus) Follow(ctx context.Context, from uint64, fn func(bus.Stored) error) error {
	return b.FollowLanes(ctx, from, bus.Lanes(), fn)
}

// FollowLanes is Follow for the messages of some lanes.
func (b *Bus) FollowLanes(ctx context.Context, from uint64, lanes []bus.Lane, fn func(bus.Stored) error) error {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	from = max(from, 1)
	for log, tries := b.current(), 1; ctx.Err() == nil; tries++ {
		next, err := b.followOnce(ctx, log, from, lanes, fn)
		var own *callbackError
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
		b.backOff(ctx, log, tries)
	}
	return ended(ctx)
}

// followOnce follows one incarnation.
func (b *Bus) followOnce(ctx context.Context, log *incarnation, from uint64, lanes []bus.Lane, fn func(bus.Stored) error) (uint64, error) {
	ctx, leave, err := log.calls.join(ctx)
	if err != nil {
		return from, err
	}
	defer leave()
	return b.scan(ctx, log, jetstream.ConsumerConfig{OptStartSeq: from, FilterSubjects: b.laneSubjects(lanes)}, 0, fn)
}

// callbackError is an error of the caller's function, which is returned to it unchanged.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }
func (e *callbackError) Unwrap() error { return e.err }

package natsbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// State implements bus.Bus. A log that was deleted has no incarnation.
func (b *Bus) State(ctx context.Context) (bus.State, error) {
	ctx, leave, err := b.join(ctx)
	if err != nil {
		return bus.State{}, err
	}
	defer leave()
	b.exclusive.Lock()
	defer b.exclusive.Unlock()
	if !b.remote() {
		b.inspectIfSuspected(ctx)
	}
	return b.state(ctx)
}

// state retries while another process recreates the log, and once when a connected cluster
// does not answer: it may have been electing a leader, and a request to the former leader is
// never answered.
func (b *Bus) state(ctx context.Context) (bus.State, error) {
	for tries := 1; ; tries++ {
		s, err := b.stateNow(ctx)
		reset := errors.Is(err, errReset) || errors.Is(err, jetstream.ErrStreamNotFound)
		elects := tries == 1 && b.remote() && unready(err) && b.conn.IsConnected()
		if !reset && !elects || tries == createTries || bus.Pause(ctx, bus.MinDelay) != nil {
			return s, err
		}
	}
}

func (b *Bus) stateNow(ctx context.Context) (bus.State, error) {
	stream, err := b.js.Stream(ctx, b.wantedLog().Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return bus.State{}, nil
	}
	if err != nil {
		return bus.State{}, fmt.Errorf("inspect log: %w", err)
	}
	incarnation := stream.CachedInfo().Config.Metadata[keyIncarnation]
	if log := b.current(); incarnation != log.id {
		b.switchTo(stream) // recreated by another process
	}
	s := bus.State{Incarnation: incarnation, Consumers: map[string]bus.ConsumerState{}}
	consumers := stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		name, ok := strings.CutSuffix(c.Name, durableName("", incarnation))
		if !ok {
			continue
		}
		s.Consumers[name] = bus.ConsumerState{
			AckFloor: c.AckFloor.Stream, Pending: c.NumPending,
			InFlight: c.NumAckPending, Redelivers: c.NumRedelivered,
		}
	}
	if err := consumers.Err(); err != nil {
		return bus.State{}, fmt.Errorf("inspect consumers: %w", err)
	}
	// Read after the consumers, so that none of them is ahead of the log.
	info, err := stream.Info(ctx)
	if err != nil {
		return bus.State{}, fmt.Errorf("inspect log: %w", err)
	}
	if info.Config.Metadata[keyIncarnation] != incarnation {
		return bus.State{}, fmt.Errorf("inspect log: %w", errReset)
	}
	gap, err := missing(info)
	if err != nil {
		return bus.State{}, fmt.Errorf("inspect log: %w", err)
	}
	s.First, s.Last, s.Messages, s.Bytes = info.State.FirstSeq, info.State.LastSeq, info.State.Msgs, info.State.Bytes
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Gap = gap || b.unreadable == incarnation
	for name, c := range s.Consumers {
		c.Obsolete = b.obsolete[name]
		s.Consumers[name] = c
	}
	return s, nil
}

// missing reports whether messages are missing that were not purged: see the package's
// comment. While a purge is in progress it allows for the messages that the purge may remove.
func missing(info *jetstream.StreamInfo) (bool, error) {
	purged, err := purgedCount(info.Config.Metadata)
	if err != nil {
		return false, err
	}
	intent, err := parseIntent(info.Config.Metadata[keyPurging])
	if err != nil {
		return false, err
	}
	if info.State.Msgs > info.State.LastSeq {
		return true, nil
	}
	gone := info.State.LastSeq - info.State.Msgs
	return gone < purged || gone > purged+intent.limit, nil
}

func purgedCount(metadata map[string]string) (uint64, error) {
	text := metadata[keyPurged]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count of purged messages: %w", err)
	}
	return n, nil
}

// Reset implements bus.Bus.
func (b *Bus) Reset(ctx context.Context) (bus.State, error) {
	ctx, leave, err := b.join(ctx)
	if err != nil {
		return bus.State{}, err
	}
	defer leave()
	b.exclusive.Lock()
	defer b.exclusive.Unlock()
	wanted := b.wantedLog()
	if err := b.js.DeleteStream(ctx, wanted.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return bus.State{}, fmt.Errorf("reset log: %w", err)
	}
	stream, err := b.create(ctx, wanted)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process recreated it first
		stream, err = b.ensure(ctx, wanted)
	}
	if err != nil {
		return bus.State{}, fmt.Errorf("reset log: %w", err)
	}
	b.switchTo(stream)
	return b.state(ctx)
}

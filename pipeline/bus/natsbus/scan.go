package natsbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// scanWait is how long a bounded scan waits for a message before it asks the server whether
// any is left.
const scanWait = 2 * time.Second

// scanLinger is how long the server keeps the consumer of an abandoned scan.
const scanLinger = time.Minute

// errMessagesLost is returned when messages of a scan were lost in transit: scan again from
// the sequence that it returned.
var errMessagesLost = errors.New("messages were lost in transit")

// errUnreadable is returned when the log has a message that differs from what was published.
var errUnreadable = errors.New("unreadable message")

// scan calls fn, in order, for the messages that a consumer's configuration selects. With to
// set it ends after that sequence or with the last message, else when ctx ends. It returns
// the sequence to resume from.
func (b *Bus) scan(ctx context.Context, log *incarnation, c jetstream.ConsumerConfig, to uint64, fn func(bus.Stored) error) (uint64, error) {
	from := c.OptStartSeq
	if from > 0 {
		c.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
	}
	c.AckPolicy = jetstream.AckNonePolicy
	c.MemoryStorage = true
	c.InactiveThreshold = scanLinger
	consumer, err := log.stream.CreateConsumer(ctx, c)
	if err != nil {
		return from, err
	}
	defer b.deleteConsumer(ctx, log, consumer)
	if err := b.checkIncarnation(ctx, log); err != nil {
		return from, err
	}
	if to != 0 && consumer.CachedInfo().NumPending == 0 {
		return from, nil
	}
	messages, err := consumer.Messages(jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(b.heartbeat()))
	if err != nil {
		return from, err
	}
	defer messages.Stop()
	for count := uint64(1); ; count++ {
		msg, err := nextOf(ctx, consumer, messages, to != 0)
		if err != nil || msg == nil {
			return from, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return from, err
		}
		if meta.Sequence.Consumer != count {
			return from, errMessagesLost
		}
		if to != 0 && meta.Sequence.Stream > to {
			return from, nil
		}
		d, err := b.delivery(msg)
		if err != nil {
			return from, fmt.Errorf("message %d: %w: %w", meta.Sequence.Stream, errUnreadable, err)
		}
		if err := fn(d.Stored); err != nil {
			return from, &callbackError{err}
		}
		from = d.Sequence + 1
		if to != 0 && (from > to || meta.NumPending == 0) {
			return from, nil
		}
	}
}

// deleteConsumer deletes a consumer. If that fails, the server deletes the consumer of a scan
// after scanLinger.
func (b *Bus) deleteConsumer(ctx context.Context, log *incarnation, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scanWait)
	defer cancel()
	if err := log.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name); err != nil {
		b.opts.Log.Debug("consumer not deleted", "error", err)
	}
}

// nextOf waits for the next message. For a bounded scan it returns nil when none is left,
// because the remaining ones were purged.
func nextOf(ctx context.Context, consumer jetstream.Consumer, messages jetstream.MessagesContext, bounded bool) (jetstream.Msg, error) {
	if !bounded {
		return messages.Next(jetstream.NextContext(ctx))
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, scanWait)
		msg, err := messages.Next(jetstream.NextContext(waiting))
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return msg, err
		}
		info, err := consumer.Info(ctx)
		if err != nil || info.NumPending == 0 {
			return nil, err
		}
	}
}

package natsbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// patience is how long a bounded scan waits before it asks whether more is to come.
const patience = 2 * time.Second

// scanLinger is how long the server keeps a scan's consumer that nobody asks any more.
const scanLinger = time.Minute

// errTorn says that messages of a scan got lost on the way: go on where it stopped.
var errTorn = errors.New("messages were lost on the way")

// errUnreadable says that the log has a message that is not what was published.
var errUnreadable = errors.New("unreadable message")

// scan calls fn, in order, for the messages that a consumer's configuration chooses; with
// a bound it ends after that sequence or with the last message, else with ctx. It returns
// the sequence to go on with.
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
	defer b.dismiss(ctx, log, consumer)
	if err := b.verify(ctx, log); err != nil {
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
			return from, errTorn
		}
		if to != 0 && meta.Sequence.Stream > to {
			return from, nil
		}
		d, err := b.delivery(msg)
		if err != nil {
			return from, fmt.Errorf("message %d: %w: %w", meta.Sequence.Stream, errUnreadable, err)
		}
		if err := fn(d.Stored); err != nil {
			return from, &ownError{err}
		}
		from = d.Sequence + 1
		if to != 0 && (from > to || meta.NumPending == 0) {
			return from, nil
		}
	}
}

// dismiss removes a consumer. Failing that, the server removes one of a scan after
// scanLinger.
func (b *Bus) dismiss(ctx context.Context, log *incarnation, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := log.stream.DeleteConsumer(ctx, consumer.CachedInfo().Name); err != nil {
		b.opts.Log.Debug("consumer not deleted", "error", err)
	}
}

// nextOf waits for the next message. A bounded scan gets nil when none is to come any
// more, because what was left has been purged.
func nextOf(ctx context.Context, consumer jetstream.Consumer, messages jetstream.MessagesContext, bounded bool) (jetstream.Msg, error) {
	if !bounded {
		return messages.Next(jetstream.NextContext(ctx))
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, patience)
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

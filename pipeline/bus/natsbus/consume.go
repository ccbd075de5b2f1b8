package natsbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus"
)

// The timing of a pull: a request waits at the server until a message comes, and is made
// again after pullExpiry; pullHeartbeat is how a dead server is noticed meanwhile.
const (
	pullExpiry    = 30 * time.Second
	pullHeartbeat = 5 * time.Second
)

// maxAckPending bounds what is delivered and not acknowledged, messages that wait for a
// redelivery included: an outage does not run through the whole log.
const maxAckPending = 1000

// Consume implements bus.Bus. Each worker asks the server for one message when it is free
// and holds no other, so that nothing is prefetched beyond the free workers.
func (b *Bus) Consume(ctx context.Context, c bus.Consumer, h bus.Handler) error {
	if err := bus.CheckConsumer(c); err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	if c.Workers < 1 {
		c.Workers = 1
	}
	if c.AckWait == 0 {
		c.AckWait = b.opts.AckWait
	}
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	taking, release := c.Taking(ctx)
	defer release()
	for tries := 1; taking.Err() == nil && !c.Stopped(); tries++ {
		log := b.current()
		began := time.Now()
		err := b.consumeOnce(ctx, log, c, h)
		if taking.Err() != nil || c.Stopped() {
			break
		}
		if time.Since(began) > bus.MaxDelay {
			tries = 1
		}
		b.raiseDoubt()
		b.opts.Log.Debug("consumer begins again", "consumer", c.Name, "error", err)
		b.rest(taking, log, tries)
	}
	return ended(ctx)
}

// ended is what a call that runs until its context ends returns then.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), bus.ErrClosed) {
		return bus.ErrClosed
	}
	return nil
}

// rest waits before a consumer begins again, or until the log is another one.
func (b *Bus) rest(ctx context.Context, log *incarnation, tries int) {
	_, delay := bus.FateOf(errReset, tries)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-log.over:
	case <-timer.C:
	}
}

// consumeOnce makes the consumer when it is missing and hands out its messages until it
// vanishes, the log is made anew, it is stopped or ctx ends, and all handlers have ended.
func (b *Bus) consumeOnce(ctx context.Context, log *incarnation, c bus.Consumer, h bus.Handler) error {
	durable, err := log.stream.CreateOrUpdateConsumer(ctx, b.durableConfig(log, c))
	if err != nil {
		return fmt.Errorf("make consumer %s: %w", c.Name, err)
	}
	if err := b.verify(ctx, log); err != nil {
		b.dismiss(ctx, log, durable)
		return err
	}
	handling, leave, err := log.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	taking, release := c.Taking(handling)
	defer release()
	workers, taking := errgroup.WithContext(taking)
	for range c.Workers {
		workers.Go(func() error { return b.work(taking, handling, durable, c, h) })
	}
	return workers.Wait()
}

func (b *Bus) durableConfig(log *incarnation, c bus.Consumer) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:           durableName(c.Name, log.id),
		FilterSubjects:    b.laneSubjects(c.Lanes),
		DeliverPolicy:     jetstream.DeliverAllPolicy,
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           c.AckWait,
		MaxDeliver:        -1,
		MaxAckPending:     maxAckPending,
		InactiveThreshold: b.lasts(),
	}
}

// lasts is how long a consumer is kept that nobody asks any more. Elsewhere those of recipes
// that nobody has any more go; one that is missed begins again with the oldest message.
func (b *Bus) lasts() time.Duration {
	if b.remote() {
		return 72 * time.Hour
	}
	return 0
}

// heartbeat is how often a server that has nothing says that it is there. Elsewhere it may
// be gone, which is noticed after two.
func (b *Bus) heartbeat() time.Duration {
	if b.remote() {
		return time.Second
	}
	return pullHeartbeat
}

// durableName ties a consumer to an incarnation: what is acknowledged to one never counts
// for another, although sequences repeat.
func durableName(name, incarnation string) string {
	return name + "-" + incarnation[:min(8, len(incarnation))]
}

// work takes one message after the other until taking ends. Its handlers live by handling.
func (b *Bus) work(taking, handling context.Context, durable jetstream.Consumer, c bus.Consumer, h bus.Handler) error {
	messages, err := durable.Messages(
		jetstream.PullMaxMessages(1),
		jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(b.heartbeat()),
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	defer b.giveBack(messages)
	for !c.Stopped() {
		msg, err := messages.Next(jetstream.NextContext(taking))
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		b.handle(handling, msg, c, h)
	}
	return nil
}

// giveBack ends a worker's pull and returns the message that was on its way meanwhile.
func (b *Bus) giveBack(messages jetstream.MessagesContext) {
	messages.Drain()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(bus.MaxDelay))
		if err != nil {
			return
		}
		if err := msg.Nak(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			b.opts.Log.Debug("message not given back", "error", err)
		}
	}
}

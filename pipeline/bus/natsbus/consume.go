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

// The timing of a pull request: it waits at the server for a message and is repeated after
// pullExpiry. A server that sends no heartbeat for two intervals counts as gone.
const (
	pullExpiry    = 30 * time.Second
	pullHeartbeat = 5 * time.Second
)

// maxAckPending bounds the messages that are delivered and not acknowledged, those that wait
// for a redelivery included, so that an outage does not affect the whole log.
const maxAckPending = 1000

// Consume implements bus.Bus. Each worker pulls one message at a time; none is prefetched.
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
		b.suspectDamage()
		b.opts.Log.Debug("consumer is restarted", "consumer", c.Name, "error", err)
		b.backOff(taking, log, tries)
	}
	return ended(ctx)
}

// ended returns the result of a call that runs until its context ends: bus.ErrClosed when
// the bus was closed, else nil.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), bus.ErrClosed) {
		return bus.ErrClosed
	}
	return nil
}

// backOff waits before a consumer is restarted, or until the log is another incarnation.
func (b *Bus) backOff(ctx context.Context, log *incarnation, tries int) {
	_, delay := bus.FateOf(errReset, tries)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-log.ended:
	case <-timer.C:
	}
}

// consumeOnce creates the consumer when it is missing and hands out its messages until the
// consumer is deleted, the log is recreated, c is stopped or ctx ends. It returns when all
// handlers have ended.
func (b *Bus) consumeOnce(ctx context.Context, log *incarnation, c bus.Consumer, h bus.Handler) error {
	durable, err := log.stream.CreateOrUpdateConsumer(ctx, b.durableConfig(log, c))
	if err != nil {
		return fmt.Errorf("make consumer %s: %w", c.Name, err)
	}
	if err := b.checkIncarnation(ctx, log); err != nil {
		b.deleteConsumer(ctx, log, durable)
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
		InactiveThreshold: b.inactiveThreshold(),
	}
}

// inactiveThreshold is how long the server keeps a consumer that nobody pulls from, 0 for
// ever. A remote server deletes those of recipes that are no longer used; a consumer that is
// recreated begins with the oldest message.
func (b *Bus) inactiveThreshold() time.Duration {
	if b.remote() {
		return 72 * time.Hour
	}
	return 0
}

// heartbeat is the interval of the server's heartbeats while a pull waits.
func (b *Bus) heartbeat() time.Duration {
	if b.remote() {
		return time.Second
	}
	return pullHeartbeat
}

// durableName includes the incarnation, so that acknowledgements of one incarnation never
// count for another, although sequences repeat.
func durableName(name, incarnation string) string {
	return name + "-" + incarnation[:min(8, len(incarnation))]
}

// work pulls and handles messages until taking ends. The handlers' context is handling.
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
	defer b.drain(messages)
	for !c.Stopped() {
		msg, err := messages.Next(jetstream.NextContext(taking))
		if err != nil {
			return fmt.Errorf("next message: %w", err)
		}
		b.handle(handling, msg, c, h)
	}
	return nil
}

// drain ends a worker's pull and has the message that arrived meanwhile redelivered.
func (b *Bus) drain(messages jetstream.MessagesContext) {
	messages.Drain()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(bus.MaxDelay))
		if err != nil {
			return
		}
		if err := msg.Nak(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			b.opts.Log.Debug("message not returned", "error", err)
		}
	}
}

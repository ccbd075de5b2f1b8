package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// errLost is the cancellation cause when a handler sent no heartbeat for most of AckWait, so
// that the server may have redelivered the message to another consumer.
var errLost = errors.New("the delivery had no heartbeat for too long")

// activeDelivery is a delivery that a handler is working on.
type activeDelivery struct {
	msg     jetstream.Msg
	ackWait time.Duration
	cancel  context.CancelCauseFunc

	mu        sync.Mutex // guards beat, lost
	heartbeat time.Time  // when the last one was sent
	lost      bool
}

// handle runs the handler for one message, sends heartbeats to the server meanwhile, and
// settles the delivery by what the handler returns.
func (b *Bus) handle(ctx context.Context, msg jetstream.Msg, c bus.Consumer, h bus.Handler) {
	f := &activeDelivery{msg: msg, ackWait: c.AckWait, heartbeat: time.Now()}
	handling, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	f.cancel = lose
	d, err := b.delivery(msg)
	if errors.Is(err, errForgotten) { // the codebase was cleared while the message was on its way
		b.settle(ctx, f, c, d, nil)
		return
	}
	if err != nil {
		b.settle(ctx, f, c, d, &bus.Drop{Err: err})
		return
	}
	var heart sync.WaitGroup
	done := make(chan struct{})
	heart.Go(func() { f.sendHeartbeats(done) })
	err = h(handling, d)
	close(done)
	heart.Wait()
	b.settle(ctx, f, c, d, err)
}

// sendHeartbeats extends the delivery's AckWait, every third of it, until done is closed or
// the delivery is lost.
func (f *activeDelivery) sendHeartbeats(done <-chan struct{}) {
	ticker := time.NewTicker(f.ackWait / 3)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			if !f.owned() {
				return
			}
			if f.msg.InProgress() == nil {
				f.mu.Lock()
				f.heartbeat = time.Now()
				f.mu.Unlock()
			}
		}
	}
}

// owned reports whether the delivery is still this handler's. After a pause of most of
// AckWait, as of a stopped process or a machine that slept, it counts as lost: to acknowledge
// it then could drop the message while a second handler works on it and fails.
func (f *activeDelivery) owned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	limit := f.ackWait - f.ackWait/10
	// The monotonic clock stops in sleep, the wall clock may be set: the larger difference counts.
	if now.Sub(f.heartbeat) > limit || now.Round(0).Sub(f.heartbeat.Round(0)) > limit {
		f.lost = true
	}
	if f.lost {
		f.cancel(errLost)
	}
	return !f.lost
}

// settle acknowledges a delivery, has it redelivered, or stores it as a dead letter, by the
// error of its handler. ctx ends with the call of Consume or with the incarnation.
func (b *Bus) settle(ctx context.Context, f *activeDelivery, c bus.Consumer, d bus.Delivery, err error) {
	if errors.Is(context.Cause(ctx), errReset) || !f.owned() {
		b.opts.Log.Debug("delivery was lost", "consumer", c.Name, "sequence", d.Sequence)
		return
	}
	fate, delay := bus.FateOf(err, d.Tries)
	if fate == bus.Redeliver && ctx.Err() != nil {
		delay = 0 // canceled by the end of this call: the next consumer may have it at once
	}
	if fate == bus.MoveToDeadLetters {
		if buryErr := b.deadLetter(context.WithoutCancel(ctx), f.msg, c, d, err); buryErr != nil {
			b.opts.Log.Warn("dead letter not kept; the message is delivered again",
				"consumer", c.Name, "event", d.ID, "error", buryErr)
			fate, delay = bus.FateOf(buryErr, d.Tries)
		}
	}
	if errors.Is(err, bus.ErrObsolete) {
		b.mu.Lock()
		b.obsolete[c.Name]++
		b.mu.Unlock()
	}
	var sent error
	switch {
	case fate != bus.Redeliver:
		sent = f.msg.Ack()
	case delay == 0:
		sent = f.msg.Nak()
	default:
		sent = f.msg.NakWithDelay(delay)
	}
	if sent != nil {
		b.opts.Log.Debug("delivery not settled", "consumer", c.Name, "event", d.ID, "error", sent)
	}
}

// delivery decodes a message and its metadata.
func (b *Bus) delivery(msg jetstream.Msg) (bus.Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return bus.Delivery{}, fmt.Errorf("read metadata: %w", err)
	}
	codebase, lane, subject := b.parseSubject(msg.Subject())
	data, err := b.decodeBody(codebase, msg.Headers(), msg.Data())
	d := bus.Delivery{
		Stored: bus.Stored{
			Message:  bus.Message{Codebase: codebase, Lane: lane, ID: identity(msg.Headers()), Data: data},
			Sequence: meta.Sequence.Stream,
			At:       meta.Timestamp.UTC(),
		},
		Tries: int(min(meta.NumDelivered, 1<<30)),
	}
	return d, errors.Join(err, subject)
}

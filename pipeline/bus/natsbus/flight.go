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

// errLost is why the context of a handler ends whose delivery may be another's by now.
var errLost = errors.New("the delivery was silent for too long")

// flight is a delivery in the hands of a handler.
type flight struct {
	msg     jetstream.Msg
	ackWait time.Duration
	lose    context.CancelCauseFunc

	mu   sync.Mutex // guards beat, lost
	beat time.Time  // when the server last heard of it
	lost bool
}

// handle runs the handler for one message, tells the server that it is alive meanwhile,
// and settles the delivery by what it returns.
func (b *Bus) handle(ctx context.Context, msg jetstream.Msg, c bus.Consumer, h bus.Handler) {
	f := &flight{msg: msg, ackWait: c.AckWait, beat: time.Now()}
	handling, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	f.lose = lose
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
	heart.Go(func() { f.beats(done) })
	err = h(handling, d)
	close(done)
	heart.Wait()
	b.settle(ctx, f, c, d, err)
}

// beats tells the server at a third of AckWait that the handler is alive.
func (f *flight) beats(done <-chan struct{}) {
	ticker := time.NewTicker(f.ackWait / 3)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			if !f.held() {
				return
			}
			if f.msg.InProgress() == nil {
				f.mu.Lock()
				f.beat = time.Now()
				f.mu.Unlock()
			}
		}
	}
}

// held tells whether the delivery is still this handler's. A process that was stopped or a
// machine that slept for most of AckWait cannot know, and counts as having lost it: to
// acknowledge now could drop the message under a second handler that dies.
func (f *flight) held() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	limit := f.ackWait - f.ackWait/10
	// The clock that stops in sleep and the one that is set by hand: the larger counts.
	if now.Sub(f.beat) > limit || now.Round(0).Sub(f.beat.Round(0)) > limit {
		f.lost = true
	}
	if f.lost {
		f.lose(errLost)
	}
	return !f.lost
}

// settle tells the server what became of a delivery. ctx ends with the call of Consume or
// with the incarnation.
func (b *Bus) settle(ctx context.Context, f *flight, c bus.Consumer, d bus.Delivery, err error) {
	if errors.Is(context.Cause(ctx), errReset) || !f.held() {
		b.opts.Log.Debug("delivery was lost", "consumer", c.Name, "sequence", d.Sequence)
		return
	}
	fate, delay := bus.FateOf(err, d.Tries)
	if fate == bus.Redeliver && ctx.Err() != nil {
		delay = 0 // cut off by the end of this call: whoever comes next may have it at once
	}
	if fate == bus.Bury {
		if buryErr := b.bury(context.WithoutCancel(ctx), f.msg, c, d, err); buryErr != nil {
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

// delivery reads what the server says of a message.
func (b *Bus) delivery(msg jetstream.Msg) (bus.Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return bus.Delivery{}, fmt.Errorf("read metadata: %w", err)
	}
	codebase, lane, subject := b.parseSubject(msg.Subject())
	data, err := b.unseal(codebase, msg.Headers(), msg.Data())
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

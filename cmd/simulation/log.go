package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
)

// ackWait is after what time JetStream hands out again what a process that is gone had in
// hand.
const ackWait = 30 * time.Second

// processLog is the log as one process sees it: deliveries are late, lost and repeated.
type processLog struct {
	*membus.Bus
	process *process
}

// Publish appends messages, unless the process has crashed. Those that take the places of
// messages which the log lost may never be handed out, and hide the loss.
func (l *processLog) Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error) {
	if l.process.dead() {
		return 0, errCrashed
	}
	known, err := l.process.world.store.LogPosition(ctx)
	if err != nil {
		return 0, err
	}
	state, err := l.Bus.State(ctx)
	if err != nil {
		return 0, err
	}
	if known.Incarnation == state.Incarnation && state.Last < known.Sequence {
		l.process.world.mu.Lock()
		l.process.world.lost = true
		l.process.world.mu.Unlock()
	}
	return l.Bus.Publish(ctx, messages, guard)
}

// Reset makes the log anew, unless the process has crashed.
func (l *processLog) Reset(ctx context.Context) (bus.State, error) {
	if l.process.dead() {
		return bus.State{}, errCrashed
	}
	return l.Bus.Reset(ctx)
}

// Consume hands out messages. What is in hand when the process crashes stays in flight for
// ackWait, as it does in JetStream: nobody tells it that the process is gone.
func (l *processLog) Consume(ctx context.Context, c bus.Consumer, handle bus.Handler) error {
	consuming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	drain, stop := c.Stop, make(chan struct{})
	ended := make(chan struct{})
	defer func() { <-ended }()
	go func() { // ends with the context, the drain or the call
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-drain:
		case <-consuming.Done():
		}
		close(stop)
	}()
	defer cancel()
	c.Stop = stop
	return l.Bus.Consume(consuming, c, func(held context.Context, d bus.Delivery) error {
		handling, release := context.WithCancel(held)
		defer release()
		defer context.AfterFunc(ctx, release)()
		err := l.deliver(handling, c.Name, d, handle)
		if l.process.dead() {
			return &bus.Retry{After: ackWait, Err: errCrashed}
		}
		return err
	})
}

func (l *processLog) deliver(ctx context.Context, consumer string, d bus.Delivery, handle bus.Handler) error {
	w := l.process.world
	key := fmt.Sprintf("%s %s %d", consumer, d.ID, d.Tries)
	if err := w.pace(ctx, key); err != nil {
		return err
	}
	if err := l.process.standStill(ctx); err != nil {
		return err
	}
	fate, older := w.fate(consumer, d)
	if fate == lost {
		return nil
	}
	err := handle(ctx, d)
	if fate == repeated && err == nil {
		_ = handle(ctx, older) // what comes of it, the delivery itself must make good
		err = handle(ctx, d)
	}
	if perr := w.pace(ctx, key+" ack"); perr != nil && err == nil {
		return perr
	}
	return err
}

// fate is what becomes of a delivery.
type fate int

const (
	handled fate = iota
	lost
	repeated
)

// fate decides about a delivery, and returns one that came before.
func (w *world) fate(consumer string, d bus.Delivery) (fate, bus.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	older := d
	if seen := w.delivered[consumer]; len(seen) > 0 {
		older = seen[int(w.hash("older", d.ID)%uint64(len(seen)))]
	}
	w.delivered[consumer] = append(w.delivered[consumer], d)
	switch {
	case w.losing > 0:
		w.losing--
		w.lost = true
		return lost, older
	case w.repeating > 0:
		w.repeating--
		return repeated, older
	}
	return handled, older
}

package membus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// Consume implements bus.Bus. AckWait is ignored: there are no heartbeats inside a process.
func (b *Bus) Consume(ctx context.Context, c bus.Consumer, h bus.Handler) error {
	if err := bus.CheckConsumer(c); err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return bus.ErrClosed
	}
	b.running.Add(1)
	b.mu.Unlock()
	defer b.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	taking, release := c.Taking(ctx)
	defer release()
	var workers sync.WaitGroup
	for range max(c.Workers, 1) {
		workers.Go(func() { b.work(taking, ctx, c, h) })
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-b.done:
			cancel()
		case <-ctx.Done():
		}
	})
	workers.Wait()
	cancel()
	watch.Wait()
	select {
	case <-b.done:
		return bus.ErrClosed
	default:
		return nil
	}
}

// work hands messages to the handler until taking ends. The handlers' context is ctx.
func (b *Bus) work(taking, ctx context.Context, c bus.Consumer, h bus.Handler) {
	for taking.Err() == nil && !c.Stopped() {
		b.mu.Lock()
		durable := b.durable(c)
		p, wait := durable.next(b.log, time.Now())
		changed := b.changed
		if p == nil {
			b.mu.Unlock()
			pause(taking, changed, wait)
			continue
		}
		handling, cancel := context.WithCancel(ctx)
		p.cancel = cancel
		d := bus.Delivery{Stored: p.stored, Tries: p.tries}
		d.Data = slices.Clone(d.Data)
		b.mu.Unlock()
		err := h(handling, d)
		b.settle(ctx, c.Name, durable, p, err)
		cancel()
	}
}

func pause(ctx context.Context, changed <-chan struct{}, wait time.Duration) {
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-due:
	}
}

// durable returns the consumer's state and creates it when there is none. mu is held.
func (b *Bus) durable(c bus.Consumer) *consumer {
	durable := b.consumers[c.Name]
	if durable == nil {
		durable = &consumer{pending: map[uint64]*pending{}}
		b.consumers[c.Name] = durable
	}
	durable.lanes = c.Lanes
	return durable
}

// settle decides about a delivery after its handler has ended.
func (b *Bus) settle(ctx context.Context, name string, durable *consumer, p *pending, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if durable.gone {
		return
	}
	p.cancel = nil
	fate, delay := bus.FateOf(err, p.tries)
	if err != nil && ctx.Err() != nil && fate == bus.Redeliver {
		delay = 0 // canceled by the end of this call: the next consumer may have it at once
	}
	switch fate {
	case bus.MoveToDeadLetters:
		b.deadLetter(bus.DeadLetter{Stored: p.stored, Consumer: name, Reason: err.Error()})
		delete(durable.pending, p.stored.Sequence)
	case bus.Redeliver:
		p.due = time.Now().Add(delay)
	default:
		if errors.Is(err, bus.ErrObsolete) {
			durable.obsolete++
		}
		delete(durable.pending, p.stored.Sequence)
	}
	b.wake()
}

// deadLetter keeps a dead letter, unless the message has one already. The caller holds mu.
func (b *Bus) deadLetter(l bus.DeadLetter) {
	same := func(other bus.DeadLetter) bool { return other.Sequence == l.Sequence && other.ID == l.ID }
	if slices.ContainsFunc(b.letters, same) {
		return
	}
	b.lastLetter++
	l.Letter = b.lastLetter
	b.letters = append(b.letters, l)
}

// DeadLetters implements bus.Bus.
func (b *Bus) DeadLetters(ctx context.Context) ([]bus.DeadLetter, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	letters := slices.Clone(b.letters)
	for i := range letters {
		letters[i].Data = slices.Clone(letters[i].Data)
	}
	return letters, nil
}

// RetryDeadLetter implements bus.Bus.
func (b *Bus) RetryDeadLetter(ctx context.Context, letter uint64) error {
	return b.takeLetter(ctx, letter, func(l bus.DeadLetter) {
		b.append(l.Message)
		b.wake()
	})
}

// DropDeadLetter implements bus.Bus.
func (b *Bus) DropDeadLetter(ctx context.Context, letter uint64) error {
	return b.takeLetter(ctx, letter, func(bus.DeadLetter) {})
}

func (b *Bus) takeLetter(ctx context.Context, letter uint64, then func(bus.DeadLetter)) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.letters, func(l bus.DeadLetter) bool { return l.Letter == letter })
	if i < 0 {
		return fmt.Errorf("dead letter %d: %w", letter, store.ErrNotFound)
	}
	then(b.letters[i])
	b.letters = slices.Delete(b.letters, i, i+1)
	return nil
}

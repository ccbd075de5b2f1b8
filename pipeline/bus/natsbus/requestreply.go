package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// headerFault holds the error of a request that failed.
const headerFault = "Freshet-Error"

// maxAnswers bounds the concurrent requests of a codebase; further ones wait.
const maxAnswers = 64

// Answer answers one request.
type Answer = func(ctx context.Context, request []byte) ([]byte, error)

// askSubject is the subject of requests to a codebase. The log's stream does not capture it.
func (b *Bus) askSubject(id store.CodebaseID) string {
	return "freshet." + b.opts.Tenant + "." + string(id) + ".ask.any"
}

// Serve answers the requests of Ask for a codebase until ctx ends. It returns nil then, when
// the answers under way have been sent. Of several servers of a codebase each gets every
// request.
func (b *Bus) Serve(ctx context.Context, id store.CodebaseID, answer Answer) error {
	if err := bus.CheckSubject(id, bus.LaneSync); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	requests := make(chan *nats.Msg, maxAnswers)
	sub, err := b.conn.ChanSubscribe(b.askSubject(id), requests)
	if err != nil {
		return fmt.Errorf("serve %s: %w", id, err)
	}
	var answering sync.WaitGroup
	defer answering.Wait()
	free := make(chan struct{}, maxAnswers)
	for {
		select {
		case <-ctx.Done():
			// Flushed, so that a later Ask learns at once that nobody serves.
			if err := errors.Join(sub.Unsubscribe(), b.conn.FlushTimeout(answerWait)); err != nil {
				b.opts.Log.Debug("unsubscribe from requests failed", "codebase", id, "error", err)
			}
			return ended(ctx)
		case msg := <-requests:
			free <- struct{}{}
			answering.Go(func() {
				defer func() { <-free }()
				b.answer(ctx, msg, answer)
			})
		}
	}
}

func (b *Bus) answer(ctx context.Context, msg *nats.Msg, answer Answer) {
	reply := nats.NewMsg(msg.Reply)
	data, err := answer(ctx, msg.Data)
	if err != nil && ctx.Err() != nil {
		return // the caller asks again, and the process that takes over answers
	}
	if reply.Data = data; err != nil {
		reply.Header.Set(headerFault, oneLine(err.Error()))
	}
	if err := b.conn.PublishMsg(reply); err != nil {
		b.opts.Log.Debug("answer not sent", "error", err)
	}
}

// Ask sends a request to the processes that serve the codebase and returns the first answer.
// Without a deadline in ctx it waits for ever. It returns bus.ErrNoAnswer, wrapped, when nobody
// answers.
func (b *Bus) Ask(ctx context.Context, id store.CodebaseID, request []byte) ([]byte, error) {
	if err := bus.CheckSubject(id, bus.LaneSync); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	reply, err := b.conn.RequestWithContext(ctx, b.askSubject(id), request)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%w: nobody serves %s", bus.ErrNoAnswer, id)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return nil, fmt.Errorf("%w in time from who serves %s", bus.ErrNoAnswer, id)
	case err != nil:
		return nil, fmt.Errorf("ask who serves %s: %w", id, err)
	}
	if fault := reply.Header.Get(headerFault); fault != "" {
		return nil, errors.New(fault)
	}
	return reply.Data, nil
}

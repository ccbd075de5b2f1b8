package natsbus

import (
	"context"
	"sync"
)

// callGroup is a set of calls whose contexts are canceled together. The zero value is an
// empty group.
type callGroup struct {
	inside sync.WaitGroup

	mu    sync.Mutex // guards all below
	cause error      // the cancellation cause, nil until end
	last  int
	calls map[int]context.CancelCauseFunc
}

// join adds a call: the context that it returns is canceled by end, with its cause. The
// caller must call the returned function when the call has ended. After end, join returns
// the cause.
func (c *callGroup) join(ctx context.Context) (context.Context, func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return nil, nil, c.cause
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.last++
	call := c.last
	if c.calls == nil {
		c.calls = map[int]context.CancelCauseFunc{}
	}
	c.calls[call] = cancel
	c.inside.Add(1)
	leave := func() {
		c.mu.Lock()
		delete(c.calls, call)
		c.mu.Unlock()
		cancel(nil)
		c.inside.Done()
	}
	return ctx, leave, nil
}

// end cancels the contexts of the calls with a cause and closes the group to further ones.
// It may be called twice: the first cause stays.
func (c *callGroup) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	for _, cancel := range c.calls {
		cancel(cause)
	}
}

// wait returns when every call has left. Call end before.
func (c *callGroup) wait() { c.inside.Wait() }

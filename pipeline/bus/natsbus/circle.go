package natsbus

import (
	"context"
	"sync"
)

// circle is a set of calls that end together. The zero value is an empty one.
type circle struct {
	inside sync.WaitGroup

	mu    sync.Mutex // guards all below
	cause error      // why the circle has ended
	last  int
	calls map[int]context.CancelCauseFunc
}

// join puts a call into the circle: its context ends with the circle, for the circle's
// cause. The call says when it leaves. A circle that has ended takes nobody and returns
// its cause.
func (c *circle) join(ctx context.Context) (context.Context, func(), error) {
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

// end ends the circle and the contexts of its calls. It may be called twice: the first
// cause stays.
func (c *circle) end(cause error) {
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

// wait returns when every call has left a circle that has ended.
func (c *circle) wait() { c.inside.Wait() }

package stage

import (
	"context"
	"sync"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// claims keeps two deliveries of one process from working on the same file at once. The
// log hands a message out again when its first worker stopped, and the work that a stopped
// process left is made again as new messages: whichever comes second waits, and then finds
// the result in the store.
type claims struct {
	mu   sync.Mutex
	held map[claim]chan struct{} // closed when the delivery that holds it ends
}

type claim struct {
	codebase store.CodebaseID
	path     string
	content  merkle.Hash
}

// take waits until no other delivery holds a file of this one, and holds them all until
// release is called. It takes all or none, so that two deliveries never wait for each other.
func (c *claims) take(ctx context.Context, id store.CodebaseID, files []event.File) (release func(), err error) {
	keys := make([]claim, len(files))
	for i, f := range files {
		keys[i] = claim{id, f.Path, f.Content}
	}
	for {
		release, busy := c.try(keys)
		if busy == nil {
			return release, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-busy:
		}
	}
}

// try holds every key, or returns the end of a delivery that holds one.
func (c *claims) try(keys []claim) (release func(), busy <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range keys {
		if other, ok := c.held[k]; ok {
			return nil, other
		}
	}
	if c.held == nil {
		c.held = map[claim]chan struct{}{}
	}
	end := make(chan struct{})
	for _, k := range keys {
		c.held[k] = end
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, k := range keys {
			delete(c.held, k)
		}
		close(end)
	}, nil
}

package merklesync

import (
	"context"
	"sync"
	"time"
)

// publishPatience is how long a check waits until its events are published. A log that is
// well takes milliseconds; one that is not must not keep those waiting who ask what changed.
const publishPatience = 500 * time.Millisecond

// publishing flushes the outbox beside the checks, one flush at a time.
type publishing struct {
	flush func(context.Context)

	running sync.WaitGroup
	mu      sync.Mutex    // guards what follows
	done    chan struct{} // closed when the flush in flight has ended; nil when there is none
	again   bool          // more was committed meanwhile
}

// publish has what was committed published, and waits for it as long as publishPatience.
func (p *publishing) publish(ctx context.Context) {
	done := p.start(ctx)
	timer := time.NewTimer(publishPatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (p *publishing) start(ctx context.Context) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		p.again = true
		return p.done
	}
	done := make(chan struct{})
	p.done, p.again = done, true
	p.running.Go(func() {
		defer close(done)
		for p.more() {
			p.flush(ctx)
		}
	})
	return done
}

// more reports whether something may have been committed since the last flush began, and
// ends the flushes in flight when not.
func (p *publishing) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.again {
		p.done = nil
		return false
	}
	p.again = false
	return true
}

package operation

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

// tellEvery is the time between two notices of what a call waits for.
const tellEvery = 5 * time.Second

// Tell tells the observer what is waited for and since when, until the returned function is
// called.
func Tell(ctx context.Context, observe tool.Observer, what string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	since, done := time.Now(), make(chan struct{})
	go func() { // ends with the returned function, which waits for it
		defer close(done)
		ticker := time.NewTicker(tellEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				text := fmt.Sprintf("waiting for %s: %s", time.Since(since).Round(time.Second), what)
				if observe(tool.Notice{Waiting: text}) != nil {
					return
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

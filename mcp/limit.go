package mcpserver

import (
	"sync"

	"github.com/freshet/freshet/mcp/tool"
)

// limit bounds the calls under way, of each client and of all together, so that one client
// that floods the server costs the others nothing.
type limit struct {
	each, all int

	mu      sync.Mutex // guards what follows
	running map[string]int
	total   int
}

func newLimit(each, all int) *limit {
	return &limit{each: each, all: all, running: map[string]int{}}
}

// acquire takes a place for a call, or says that there is none. The place is given back by
// release, once.
func (l *limit) acquire(client string) (release func(), busy *tool.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[client] >= l.each {
		return nil, tool.Errorf(tool.CodeBusy, "%d calls of this client are under way; wait for one to end", l.each).RetryAfter(500)
	}
	if l.total >= l.all {
		return nil, tool.Errorf(tool.CodeBusy, "%d calls are under way; try again shortly", l.all).RetryAfter(1000)
	}
	l.running[client]++
	l.total++
	return func() { l.release(client) }, nil
}

func (l *limit) release(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.running[client]--; l.running[client] == 0 {
		delete(l.running, client)
	}
}

// inFlight is the number of calls under way.
func (l *limit) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

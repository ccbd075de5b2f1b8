package mcpserver

import (
	"context"
	"sync"

	"github.com/freshet/freshet/mcp/tool"
)

// limit is a fair queue of calls. It bounds the calls under way, of each peer and of all
// together. A call beyond waits: a place that gets free goes to the peer that was served
// least recently, and among its connections to the one that was. So a client that floods
// delays another by the calls under way, not by those it has waiting, whatever it calls
// itself.
type limit struct {
	each, all int // calls under way of a peer, of all
	queue     int // calls that wait, of a peer

	mu      sync.Mutex // guards what follows, and the connections' served
	peers   map[string]*callPeer
	waiting []*waitingCall // in the order of their coming
	total   int
	turns   uint64 // counts the calls that began and the connections that came
}

// callPeer is a peer with calls that are under way or wait.
type callPeer struct {
	name              string
	running, waitings int
	served            uint64 // the turn of its last call
}

// callConnection is a connection of a peer, to tell those apart that were served long ago.
type callConnection struct {
	served uint64 // the turn of its last call, or of its coming
}

// waitingCall is a call that waits for a place.
type waitingCall struct {
	peer       *callPeer
	connection *callConnection
	decided    chan struct{} // closed when it has a place or is refused
	refused    bool          // readable once decided
}

// newLimit makes a queue. A peer has at most eight times as many calls waiting as under way.
func newLimit(each, all int) *limit {
	return &limit{each: each, all: all, queue: 8 * each, peers: map[string]*callPeer{}}
}

// acquire waits for a place for a call, until ctx ends. It returns an error when there is
// none and too many calls of the peer wait. The place is given back by release, once.
func (l *limit) acquire(ctx context.Context, peer string, connection *callConnection) (release func(), busy *tool.Error) {
	call := l.enqueue(peer, connection)
	select {
	case <-call.decided:
	case <-ctx.Done():
		if l.withdraw(call) {
			return nil, tool.AsError(ctx.Err())
		}
	}
	if call.refused {
		return nil, tool.Errorf(tool.CodeBusy, "%d calls are under way and %d wait; wait for some to end", l.each, l.queue).RetryAfter(500)
	}
	return func() { l.release(call.peer) }, nil
}

// enqueue lets a call wait, begins those that can begin, and refuses one of the peer when it
// has too many: that of the connection that was served last.
func (l *limit) enqueue(name string, connection *callConnection) *waitingCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	peer := l.peers[name]
	if peer == nil {
		peer = &callPeer{name: name}
		l.peers[name] = peer
	}
	if connection.served == 0 {
		l.turns++
		connection.served = l.turns
	}
	call := &waitingCall{peer: peer, connection: connection, decided: make(chan struct{})}
	l.waiting = append(l.waiting, call)
	peer.waitings++
	l.begin()
	if peer.waitings > l.queue {
		var last *waitingCall
		for _, w := range l.waiting {
			if w.peer == peer && (last == nil || w.connection.served >= last.connection.served) {
				last = w
			}
		}
		last.refused = true
		l.decide(last)
	}
	return call
}

// begin gives free places to waiting calls. The caller holds mu.
func (l *limit) begin() {
	for l.total < l.all {
		var next *waitingCall
		for _, w := range l.waiting {
			if w.peer.running < l.each && (next == nil || w.before(next)) {
				next = w
			}
		}
		if next == nil {
			return
		}
		l.total++
		l.turns++
		next.peer.running++
		next.peer.served, next.connection.served = l.turns, l.turns
		l.decide(next)
	}
}

// before reports whether a call is served before one that came earlier.
func (w *waitingCall) before(earlier *waitingCall) bool {
	if w.peer != earlier.peer {
		return w.peer.served < earlier.peer.served
	}
	return w.connection.served < earlier.connection.served
}

// decide ends the waiting of a call. The caller holds mu.
func (l *limit) decide(call *waitingCall) {
	for i, w := range l.waiting {
		if w == call {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			break
		}
	}
	call.peer.waitings--
	close(call.decided)
	l.forget(call.peer)
}

// withdraw takes back a call that nobody waits for. It returns false when the call was
// decided before.
func (l *limit) withdraw(call *waitingCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-call.decided:
		return false
	default:
	}
	call.refused = true
	l.decide(call)
	return true
}

func (l *limit) release(peer *callPeer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	peer.running--
	l.begin()
	l.forget(peer)
}

// forget drops a peer that has no calls. The caller holds mu.
func (l *limit) forget(peer *callPeer) {
	if peer.running == 0 && peer.waitings == 0 {
		delete(l.peers, peer.name)
	}
}

// inFlight is the number of calls under way.
func (l *limit) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

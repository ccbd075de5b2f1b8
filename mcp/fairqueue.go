package mcpserver

import (
	"context"
	"sync"

	"github.com/freshet/freshet/mcp/tool"
)

// fairQueue is a concurrency limiter with fair queueing. It bounds the calls under way, of
// each peer and of all together; further calls wait. A free slot goes to the peer that was
// served least recently, and among its connections to the one served least recently, so that
// a client that floods delays others by its calls under way and not by those that wait.
type fairQueue struct {
	perPeer, total int // calls under way of a peer, of all
	maxWaiting     int // calls that wait, of a peer

	mu      sync.Mutex // guards what follows, and the connections' served
	peers   map[string]*callPeer
	waiting []*waitingCall // in order of arrival
	running int
	turns   uint64 // logical clock: counts calls that began and new connections
}

// callPeer is a peer with calls that are under way or wait.
type callPeer struct {
	name              string
	running, waitings int
	served            uint64 // the turn of its last call
}

// callConnection is the scheduling state of a connection of a peer.
type callConnection struct {
	served uint64 // the turn of its last call, or of its first
}

// waitingCall is a call that waits for a slot.
type waitingCall struct {
	peer       *callPeer
	connection *callConnection
	decided    chan struct{} // closed when it has a slot or is refused
	refused    bool          // readable once decided
}

// newFairQueue returns a queue with at most perPeer calls under way of a peer, eight times as
// many waiting, and total under way of all.
func newFairQueue(each, all int) *fairQueue {
	return &fairQueue{perPeer: each, total: all, maxWaiting: 8 * each, peers: map[string]*callPeer{}}
}

// acquire waits for a slot until ctx ends. It returns an error when too many calls of the
// peer wait. The caller must call release once.
func (l *fairQueue) acquire(ctx context.Context, peer string, connection *callConnection) (release func(), busy *tool.Error) {
	call := l.enqueue(peer, connection)
	select {
	case <-call.decided:
	case <-ctx.Done():
		if l.withdraw(call) {
			return nil, tool.AsError(ctx.Err())
		}
	}
	if call.refused {
		return nil, tool.Errorf(tool.CodeBusy, "%d calls are under way and %d wait; wait for some to end", l.perPeer, l.maxWaiting).RetryAfter(500)
	}
	return func() { l.release(call.peer) }, nil
}

// enqueue adds a call, begins those that have a slot, and refuses one of the peer when too
// many wait: that of the connection that was served most recently.
func (l *fairQueue) enqueue(name string, connection *callConnection) *waitingCall {
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
	if peer.waitings > l.maxWaiting {
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

// begin gives free slots to waiting calls. The caller holds mu.
func (l *fairQueue) begin() {
	for l.running < l.total {
		var next *waitingCall
		for _, w := range l.waiting {
			if w.peer.running < l.perPeer && (next == nil || w.before(next)) {
				next = w
			}
		}
		if next == nil {
			return
		}
		l.running++
		l.turns++
		next.peer.running++
		next.peer.served, next.connection.served = l.turns, l.turns
		l.decide(next)
	}
}

// before reports whether a call has priority over one that arrived earlier.
func (w *waitingCall) before(earlier *waitingCall) bool {
	if w.peer != earlier.peer {
		return w.peer.served < earlier.peer.served
	}
	return w.connection.served < earlier.connection.served
}

// decide removes a call from the queue and wakes it. The caller holds mu.
func (l *fairQueue) decide(call *waitingCall) {
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

// withdraw removes a canceled call. It returns false when the call was decided before.
func (l *fairQueue) withdraw(call *waitingCall) bool {
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

func (l *fairQueue) release(peer *callPeer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	peer.running--
	l.begin()
	l.forget(peer)
}

// forget drops a peer that has no calls. The caller holds mu.
func (l *fairQueue) forget(peer *callPeer) {
	if peer.running == 0 && peer.waitings == 0 {
		delete(l.peers, peer.name)
	}
}

// inFlight returns the number of calls under way.
func (l *fairQueue) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

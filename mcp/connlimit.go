package mcpserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// limitListener is a connection limiter: it bounds the number of open connections without an
// authenticated request under way. It accepts every connection; when too many wait, it closes
// the one that has waited longest, of the peer with the most.
//
// netutil.LimitListener does not serve here: it stops accepting at the limit, so that clients
// that connect and send nothing (slow loris) would lock out all others.
type limitListener struct {
	net.Listener
	limit int // that may wait

	mu      sync.Mutex     // guards what follows
	waiting []*limitedConn // the one that waits longest first
}

func newLimitListener(l net.Listener, most int) *limitListener {
	return &limitListener{Listener: l, limit: most}
}

// Accept returns the next connection, which counts until it is admitted.
func (p *limitListener) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &limitedConn{Conn: conn, listener: p, peer: peerOf(conn.RemoteAddr())}
	p.track(g)
	return g, nil
}

func peerOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}

// track counts a connection as waiting, and closes one when there are too many.
func (p *limitListener) track(g *limitedConn) {
	p.mu.Lock()
	p.waiting = append(p.waiting, g)
	var victim *limitedConn
	if len(p.waiting) > p.limit {
		victim = p.victim()
	}
	p.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
}

// victim returns the connection to close: the one that waits longest, of the peer that has
// the most. The caller holds mu.
func (p *limitListener) victim() *limitedConn {
	counts := map[string]int{}
	for _, g := range p.waiting {
		counts[g.peer]++
	}
	var victim *limitedConn
	for _, g := range p.waiting {
		if victim == nil || counts[g.peer] > counts[victim.peer] {
			victim = g
		}
	}
	return victim
}

// untrack stops counting a connection as waiting.
func (p *limitListener) untrack(g *limitedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.waiting {
		if other == g {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
}

// limitedConn is a connection of a limitListener.
type limitedConn struct {
	net.Conn
	listener *limitListener
	peer     string
	calls    callConnection
}

// Close closes the connection.
func (g *limitedConn) Close() error {
	g.listener.untrack(g)
	return g.Conn.Close()
}

// connKey is the context key of the connection of a request.
type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// admitted is middleware for authenticated requests: their connections do not count as
// waiting until they are answered.
func admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
			g.listener.untrack(g)
			defer g.listener.track(g)
		}
		next.ServeHTTP(w, r)
	})
}

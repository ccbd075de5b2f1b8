package mcpserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// places is a listener that bounds the connections of peers that have not shown who they
// are. It takes every connection at once; when too many wait, the one that has waited longest
// of the peer with the most is closed, so slow ones never keep an honest one out. A
// connection that serves a request which passed the guards does not count as waiting.
type places struct {
	net.Listener
	most int // that may wait

	mu      sync.Mutex // guards what follows
	waiting []*guest   // the longest first
}

func newPlaces(l net.Listener, most int) *places { return &places{Listener: l, most: most} }

// Accept returns the next connection, which waits until it is admitted.
func (p *places) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{Conn: conn, places: p, peer: peerOf(conn.RemoteAddr())}
	p.wait(g)
	return g, nil
}

func peerOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}

// wait counts a connection as waiting, and closes another one when there are too many.
func (p *places) wait(g *guest) {
	p.mu.Lock()
	p.waiting = append(p.waiting, g)
	var victim *guest
	if len(p.waiting) > p.most {
		victim = p.victim()
	}
	p.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
}

// victim is the longest waiting connection of the peer that has the most. The caller holds
// mu.
func (p *places) victim() *guest {
	counts := map[string]int{}
	for _, g := range p.waiting {
		counts[g.peer]++
	}
	var victim *guest
	for _, g := range p.waiting {
		if victim == nil || counts[g.peer] > counts[victim.peer] {
			victim = g
		}
	}
	return victim
}

// forget stops counting a connection as waiting.
func (p *places) forget(g *guest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.waiting {
		if other == g {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
}

// guest is a connection and what its peer is.
type guest struct {
	net.Conn
	places *places
	peer   string
	calls  callConnection
}

// Close closes the connection.
func (g *guest) Close() error {
	g.places.forget(g)
	return g.Conn.Close()
}

// guestKey finds the connection of a request in its context.
type guestKey struct{}

func withGuest(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, conn)
}

// admitted serves requests that passed the guards: their connections wait no more, until
// they are answered.
func admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
			g.places.forget(g)
			defer g.places.wait(g)
		}
		next.ServeHTTP(w, r)
	})
}

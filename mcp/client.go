package mcpserver

import (
	"context"
	"net"
	"net/http"
)

// requestKey finds the HTTP request of a call in its context.
type requestKey struct{}

// carrying notes the request in the context of what it causes.
func carrying(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, r))
}

// untilGone ends the context of a call with the request that carries it: the answer could
// not be delivered any more. The SDK does so for new revisions of the protocol only.
func untilGone(ctx context.Context) (context.Context, func()) {
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// clientOf tells clients apart for the queue of calls: on standard input and output there is
// one; over HTTP, which has no sessions, by address and by connection. Nothing that a client
// says of itself counts.
func (s *Server) clientOf(ctx context.Context) (peer string, connection *callConnection) {
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		return "local", &s.local
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
		return address, &g.calls
	}
	return address, &callConnection{}
}

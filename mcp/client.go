package mcpserver

import (
	"context"
	"net"
	"net/http"
)

// requestKey is the context key of the HTTP request of a call.
type requestKey struct{}

// withRequest returns the request with itself in its context.
func withRequest(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, r))
}

// cancelWithRequest cancels the context of a call when its HTTP request ends, because the
// answer cannot be delivered. The SDK does so for new revisions of the protocol only.
func cancelWithRequest(ctx context.Context) (context.Context, func()) {
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// clientOf identifies the client of a call for the fair queue: on standard input and output
// there is one; over HTTP, which is stateless, by address and connection. What a client
// reports about itself is not used.
func (s *Server) clientOf(ctx context.Context) (peer string, connection *callConnection) {
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		return "local", &s.local
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	if g, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
		return address, &g.calls
	}
	return address, &callConnection{}
}

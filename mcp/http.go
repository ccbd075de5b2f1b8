package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// HTTPOptions say where and to whom to serve.
type HTTPOptions struct {
	// Address is where to listen, host and port. Port 0 picks a free one.
	Address string
	// Token is the bearer token that clients must present, "" for none: everybody who reaches
	// the address is then served. An address that other machines reach is refused without one.
	Token string
	// Names are the host names, besides those of loopback, by which clients reach Address.
	Names []string
	// MaxBody bounds a request; 0 means 1 MiB. Connections bounds the open connections without
	// an authenticated request under way; beyond it the one that has waited longest is closed,
	// of the peer that has the most; 0 means 256.
	MaxBody     int64
	Connections int
	// Patience is the read timeout of a request, and the write timeout of each piece of a
	// response; 0 means 5 s. Drain is how long calls under way may take to end once ctx has
	// ended; 0 means 3 s.
	Patience, Drain time.Duration
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	if o.Connections == 0 {
		o.Connections = 256
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = 3 * time.Second
	}
	return o
}

// ServeHTTP listens, calls ready with the URL of the protocol's endpoint and a one-time link
// to the status page, and serves until ctx ends; then it drains the calls under way. The link
// is "" without a token. It refuses to listen on more than loopback without a token.
func (s *Server) ServeHTTP(ctx context.Context, o HTTPOptions, ready func(url, link string)) error {
	o = o.withDefaults()
	if err := CheckAddress("listen", o.Address, o.Token); err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return tool.Errorf(tool.CodeInvalidArgument, "listen: %w; another host may serve there, choose another --listen", err)
	}
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the requests outlive ctx by the drain
	defer cancel()
	logins := newLogins(o.Token, s.opts.Now)
	server := &http.Server{
		Handler:           s.handler(ctx, o, logins),
		ReadHeaderTimeout: o.Patience,
		IdleTimeout:       30 * time.Second,
		ConnContext:       withConn,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(newLimitListener(listener, o.Connections)) }()
	if ready != nil {
		link, at := "", "http://"+listener.Addr().String()
		if o.Token != "" {
			link = at + "/login?" + logins.link()
		}
		ready(at+"/mcp", link)
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	s.drain(o.Drain)
	cancel()
	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if err := server.Shutdown(patience); err != nil {
		err = server.Close()
		if err != nil {
			return fmt.Errorf("stop HTTP: %w", err)
		}
	}
	s.calls.Wait()
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}

// drain waits for the calls under way, at most for the time most.
func (s *Server) drain(most time.Duration) {
	ended := make(chan struct{})
	go func() { // ends with the calls, which ServeHTTP waits for as well
		s.calls.Wait()
		close(ended)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// CheckAddress returns an error for a listen address that other machines reach when there is
// no token. The parameter names the setting that holds the address.
func CheckAddress(parameter, address, token string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return tool.Invalid(parameter, fmt.Sprintf("%q is not host:port", address))
	}
	if token == "" && !loopback(host) {
		return tool.Errorf(tool.CodePermissionDenied,
			"%s can be reached from other machines, and no token is set: set FRESHET_TOKEN, or listen on 127.0.0.1", address)
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// handler returns the middleware, the pages and the protocol: it checks the origin, the
// deadlines, the authentication and the size of a request, in this order. The server is
// unhealthy once ended has ended.
func (s *Server) handler(ended context.Context, o HTTPOptions, logins *logins) http.Handler {
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
		Stateless: true, Logger: s.opts.Log, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // guard does it, for every address
	})
	started := s.opts.Now()
	refused := func() { s.metrics.refuse("token") }
	open, closed := http.NewServeMux(), http.NewServeMux()
	closed.Handle("/mcp", s.bounded(o, admitted(protocol)))
	open.HandleFunc("GET /metrics", logins.only(MetricsHandler(s.collectors(started)...).ServeHTTP, refused))
	open.HandleFunc("GET /{$}", logins.only(func(w http.ResponseWriter, r *http.Request) { s.page(w, r, o.Token != "", started) }, refused))
	open.HandleFunc("GET /login", logins.enter)
	open.HandleFunc("POST /login", withReadDeadline(o.Patience, logins.login))
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if ended.Err() != nil {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	open.HandleFunc("GET /readyz", newReadiness(s.opts).page(ended))
	open.Handle("/", Bearer(o.Token, closed, refused))
	return s.guard(o, withWriteDeadline(o.Patience, open))
}

// Bearer is middleware that requires a bearer token, "" for none. Refused, unless nil, is
// called for each request without it. The comparison takes constant time.
func Bearer(token string, next http.Handler, refused func()) http.Handler {
	if token == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !presents(r, token) {
			if refused != nil {
				refused()
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="freshet"`)
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

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
	// Token is the bearer token that clients must present, "" for none: whoever reaches the
	// address is then served everything. An address that others than this machine reach is
	// refused without one.
	Token string
	// Names are the host names, besides those of loopback, by which clients reach Address.
	Names []string
	// MaxBody bounds a request; 0 means 1 MiB. Connections bounds how many are open without
	// a request that passed the guards, idle ones too: beyond it the one that waited longest
	// is closed, of the peer that has the most; 0 means 256.
	MaxBody     int64
	Connections int
	// Patience is how long a client may take to send a request, or to take a piece of an
	// answer; 0 means 5 s. Drain is how long calls under way may take to end once ctx
	// has ended; 0 means 3 s.
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

// ServeHTTP listens, calls ready with the address of the protocol's endpoint and a link that
// opens the status page in one browser, once, and serves until ctx ends; then it lets the
// calls under way end for a while. The link is "" where no token is needed. It refuses to
// listen wider than loopback without a token.
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
		ConnContext:       withGuest,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(newPlaces(listener, o.Connections)) }()
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

// drain waits for the calls under way, at most for a while.
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

// CheckAddress refuses an address to listen on that others than this machine reach, unless
// clients must present a token. The parameter is where the address comes from.
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

// handler puts the guards around the pages and the protocol: first who asks, then how much
// and how slowly, then what. Ended is the context whose end makes the server unhealthy.
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
	open.HandleFunc("POST /login", slowly(o.Patience, logins.login))
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if ended.Err() != nil {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	open.HandleFunc("GET /readyz", newReadiness(s.opts).page(ended))
	open.Handle("/", Bearer(o.Token, closed, refused))
	return s.guard(o, patient(o.Patience, open))
}

// Bearer asks for a token, "" for none, before next is served. Refused is called for each
// request without it; nil is nobody. The comparison takes the same time for every wrong one.
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

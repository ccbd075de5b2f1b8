package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	mcpserver "github.com/freshet/freshet/mcp"
)

// health serves whether the worker is alive, whether it is ready, and its counts. The zero
// value serves nothing.
type health struct {
	listener net.Listener
	server   *http.Server
}

// headerWait bounds how long a request for health may take to arrive.
const headerWait = 5 * time.Second

// listen listens where the options say, or not at all. Counts are for those who present the
// token; whether the worker lives and is ready is for everybody who reaches the address. On
// loopback nothing is for a web page that has a browser ask.
func listen(ctx context.Context, w *worker) (*health, error) {
	if w.opts.Health == "" {
		return &health{}, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", w.opts.Health)
	if err != nil {
		return nil, fmt.Errorf("listen for health: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { say(rw, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", w.ready)
	mux.Handle("GET /metrics", mcpserver.Bearer(w.opts.Token, mcpserver.MetricsHandler(w.meter, w.standing), nil))
	return &health{listener: listener, server: &http.Server{Handler: mcpserver.RefuseForeign(w.opts.Health, mux), ReadHeaderTimeout: headerWait}}, nil
}

// ready answers 200 when the worker takes work, and log and store answer now, else 503 with
// the reason.
func (w *worker) ready(rw http.ResponseWriter, r *http.Request) {
	if w.draining.Load() {
		say(rw, http.StatusServiceUnavailable, "stopping\n")
		return
	}
	if err := w.standing.Ready(r.Context()); err != nil {
		say(rw, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	say(rw, http.StatusOK, "ready\n")
}

// say answers; a client that is gone does not matter.
func say(rw http.ResponseWriter, code int, text string) {
	rw.WriteHeader(code)
	_, _ = rw.Write([]byte(text))
}

func (h *health) url() string {
	if h.listener == nil {
		return ""
	}
	return "http://" + h.listener.Addr().String()
}

// serve serves until ctx ends, and returns nil then.
func (h *health) serve(ctx context.Context) error {
	if h.listener == nil {
		return nil
	}
	stopped := make(chan struct{})
	go func() { // ends with ctx, and serve waits for it
		defer close(stopped)
		<-ctx.Done()
		_ = h.server.Close() // whoever asks now is told nothing
	}()
	err := h.server.Serve(h.listener)
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	<-stopped
	return nil
}

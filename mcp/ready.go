package mcpserver

import (
	"context"
	"net/http"
	"time"
)

// The result of a readiness check is cached for readyLasts, since anybody may request it and
// it costs the store a query. Concurrent requests share one check (singleflight), for which
// they wait at most readyWait.
const (
	readyLasts = time.Second
	readyWait  = 3 * time.Second
)

// readiness is the cached readiness check.
type readiness struct {
	ask func(ctx context.Context) error // nil means always
	now func() time.Time

	turn chan struct{} // a mutex, with a deadline, that guards all below
	at   time.Time
	err  error
}

func newReadiness(o Options) *readiness {
	return &readiness{ask: o.Ready, now: o.Now, turn: make(chan struct{}, 1)}
}

// learn returns the cached result, or checks again after readyLasts. The result of a check
// whose context ended is not cached.
func (r *readiness) learn(ctx context.Context) error {
	if r.ask == nil {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
	case <-patience.Done():
		return patience.Err()
	}
	defer func() { <-r.turn }()
	if now := r.now(); r.at.IsZero() || now.Sub(r.at).Abs() > readyLasts {
		err := r.ask(ctx)
		if ctx.Err() != nil {
			return err
		}
		r.at, r.err = r.now(), err
	}
	return r.err
}

// page answers 200 when calls can be answered now, else 503 with the reason.
func (r *readiness) page(ended context.Context) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if ended.Err() != nil {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		if err := r.learn(request.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n")) // a client that is gone does not matter
	}
}

package natsbus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// TestAsk asks who serves a codebase: an answer, a refusal, silence, and nobody there.
func TestAsk(t *testing.T) {
	t.Parallel()
	srv := remoteServer(t)
	here := open(t, natsbus.Options{URL: srv.ClientURL()})
	there := open(t, natsbus.Options{URL: srv.ClientURL()})
	stopped, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- there.Serve(stopped, "a", func(ctx context.Context, request []byte) ([]byte, error) {
			switch string(request) {
			case "refuse":
				return nil, errors.New("not\nthis")
			case "hang":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return append([]byte("re: "), request...), nil
		})
	}()
	ask := func(id, what string, wait time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		got, err := here.Ask(ctx, "a", []byte(what))
		if id != "a" {
			got, err = here.Ask(ctx, "b", []byte(what))
		}
		return string(got), err
	}
	for {
		if _, err := ask("a", "there?", 5*time.Minute); !errors.Is(err, bus.ErrNoAnswer) {
			must(t, err)
			break
		}
	}
	if got, err := ask("a", "this", 5*time.Minute); err != nil || got != "re: this" {
		t.Errorf("answered %q, %v", got, err)
	}
	if _, err := ask("a", "refuse", 5*time.Minute); err == nil || errors.Is(err, bus.ErrNoAnswer) || !strings.Contains(err.Error(), "not this") {
		t.Errorf("refused with %v", err)
	}
	if _, err := ask("a", "hang", 50*time.Millisecond); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("silence is %v", err)
	}
	if _, err := ask("b", "this", 5*time.Minute); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("nobody is %v", err)
	}
	stop()
	must(t, receive(t, done))
	if _, err := ask("a", "this", 5*time.Minute); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("who ended is %v", err)
	}
	must(t, there.Close())
	must(t, here.Close())
	if _, err := here.Ask(t.Context(), "a", nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

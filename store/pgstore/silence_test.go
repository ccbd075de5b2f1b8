package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// TestReadOfSilentServer: a server that was stopped in its tracks fails a read long before
// the time that a statement may take, and serves again when it wakes.
func TestReadOfSilentServer(t *testing.T) {
	t.Parallel()
	server := pgtest.StartPrivate(t)
	s, err := Open(t.Context(), server.URL(), Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	server.Stop()
	if silence+connecting >= defaultStatementTimeout {
		t.Errorf("a read gives up after %s, later than a statement", silence+connecting)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, connection := range []string{"old", "new"} {
		if _, err := s.Codebases(ctx); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read of a stopped server on the %s connection: %v, want %v", connection, err, store.ErrUnavailable)
		}
	}
	server.Continue()
	if _, err := s.Codebases(t.Context()); err != nil {
		t.Errorf("read of one that was woken: %v", err)
	}
}

package meter

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet/freshet/store"
)

// silentLog and silentStore answer nothing while they are silent.
type silentLog struct {
	Log
	silent bool
}

func (l silentLog) Ping(ctx context.Context) error { return wait(ctx, l.silent) }

type silentStore struct {
	Index
	silent bool
}

func (s silentStore) LogPosition(ctx context.Context) (store.LogPosition, error) {
	return store.LogPosition{}, wait(ctx, s.silent)
}

func wait(ctx context.Context, silent bool) error {
	if !silent {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestReadyIsBounded: a log or a store that says nothing keeps nobody waiting for longer than
// readyTime, and is told.
func TestReadyIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		log, store bool // silent
		took       time.Duration
	}{
		{"both answer", false, false, 0},
		{"a silent log", true, false, readyTime},
		{"a silent store", false, true, readyTime},
		{"both silent", true, true, readyTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewStanding(silentLog{silent: c.log}, silentStore{silent: c.store}, nil, time.Now, slog.New(slog.DiscardHandler))
				began := time.Now()
				err := s.Ready(t.Context())
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				if errors.Is(err, ErrLogAway) != c.log || errors.Is(err, ErrStoreAway) != c.store || (err == nil) != (!c.log && !c.store) {
					t.Errorf("ready: %v", err)
				}
			})
		})
	}
}

package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/history"
)

// Outcome is how a history ended.
type Outcome struct {
	// Violation is what did not hold, nil when all did.
	Violation error
	// History is the history file of a violation as `freshet replay` reads it: the
	// snapshots that store and log still had. It is empty where they did not suffice.
	History []byte
}

// Run runs the operations of a seed in a bubble of its own. It must not be called inside a
// bubble. log nil discards.
func Run(t *testing.T, seed uint64, operations []Operation, log *slog.Logger) (outcome Outcome) {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	synctest.Test(t, func(*testing.T) {
		ctx := context.Background()
		w, err := newWorld(seed, log)
		if err != nil {
			outcome.Violation = err
			return
		}
		if outcome.Violation = w.run(ctx, operations); outcome.Violation != nil {
			outcome.History = w.history(ctx)
		}
		outcome.Violation = errors.Join(outcome.Violation, w.close())
	})
	return outcome
}

// history records what store and log hold, nil when they do not hold enough.
func (w *world) history(ctx context.Context) []byte {
	var events []event.Event
	err := w.log.Read(ctx, 1, 0, func(m bus.Stored) error {
		if e, err := event.Decode(m.Data); err == nil {
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	writer, err := history.NewWriter(&out)
	if err != nil || history.Record(ctx, w.store, recipeOf(w.recipe), events, writer) != nil || writer.Close() != nil {
		return nil
	}
	return out.Bytes()
}

func (w *world) run(ctx context.Context, operations []Operation) error {
	if _, err := w.running(ctx); err != nil {
		return err
	}
	for i, o := range operations {
		w.slog.Info("operation begins", "number", i, "operation", o.String())
		if i%4 == 3 {
			w.logs = append(w.logs, w.log.Image())
		}
		if err := w.do(ctx, o); err != nil {
			return fmt.Errorf("operation %d (%s): %w", i, o, err)
		}
	}
	if err := w.settle(ctx); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	time.Sleep(ackWait + time.Minute) // what is late comes now
	if err := w.settle(ctx); err != nil {
		return fmt.Errorf("a while after the end: %w", err)
	}
	return nil
}

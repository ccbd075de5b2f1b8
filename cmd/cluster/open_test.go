package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
)

// TestOpenSaysWhatToDo: a part of the cluster that cannot be opened is named by its code, and
// the next step is the command that examines it.
func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	settings := Settings{NATS: "nats://127.0.0.1:1", Database: "elsewhere", Place: "here"}
	away := func(context.Context) (store.Store, error) { return nil, fmt.Errorf("dial: %w", store.ErrUnavailable) }
	there := func(context.Context) (store.Store, error) { return memstore.New(memstore.Options{}), nil }
	corrupt := func(context.Context) (store.Store, error) { return nil, fmt.Errorf("schema: %w", store.ErrCorrupt) }
	newer := func(context.Context) (store.Store, error) { return nil, store.ErrNewerSchema }
	for name, c := range map[string]struct {
		open  func(context.Context) (store.Store, error)
		code  tool.Code
		steps int
	}{
		"no store": {away, tool.CodeStoreUnavailable, 1},
		"no log":   {there, tool.CodeBusUnavailable, 1},
		"damaged":  {corrupt, tool.CodeStoreUnavailable, 2},
		"newer":    {newer, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), settings, Options{OpenStore: c.open})
			var advice *tool.Error
			if known := errors.As(err, &advice); known != (c.code != "") || known && (advice.Code != c.code || len(advice.NextSteps) != c.steps) {
				t.Errorf("it fails with %v, want %q and %d next steps", err, c.code, c.steps)
			}
		})
	}
}

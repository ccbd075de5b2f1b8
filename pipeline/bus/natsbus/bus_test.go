package natsbus_test

import (
	"log/slog"
	"testing"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/bustest"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// testLog sends what the bus logs to the test's output.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

func open(t testing.TB, o natsbus.Options) *natsbus.Bus {
	t.Helper()
	if o.Dir == "" && o.URL == "" {
		o.Dir = t.TempDir()
	}
	o.Log = testLog(t)
	b, err := natsbus.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBus(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus { return open(t, natsbus.Options{}) }, bustest.Features{
		Place: func(t *testing.T) func() bus.Bus {
			dir := t.TempDir()
			return func() bus.Bus { return open(t, natsbus.Options{Dir: dir}) }
		},
		Small:  func(t *testing.T) bus.Bus { return open(t, natsbus.Options{MaxBytes: 100 << 10}) },
		Leases: true,
	})
}

package membus_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/bustest"
	"github.com/freshet/freshet/pipeline/bus/membus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBus(t *testing.T) {
	bustest.Run(t, func(*testing.T) bus.Bus { return membus.New() }, bustest.Features{
		Small: func(*testing.T) bus.Bus { return membus.NewLimited(100 << 10) },
	})
}

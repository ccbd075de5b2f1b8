package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
)

// steps are the commands that an error advises, a line each.
func steps(t *testing.T, err error) string {
	t.Helper()
	known := new(tool.Error)
	if !errors.As(err, &known) {
		t.Fatalf("%v advises nothing", err)
	}
	var lines strings.Builder
	for _, step := range known.NextSteps {
		fmt.Fprintln(&lines, step.Arguments["command"])
	}
	return lines.String()
}

// TestDamagedStoreOfACluster: who finds the shared store damaged is not sent to the file of
// an embedded one; who finds that one damaged is.
func TestDamagedStoreOfACluster(t *testing.T) {
	t.Parallel()
	settings := cluster.Settings{NATS: "nats://127.0.0.1:1", Database: "elsewhere", Place: "here"}
	_, opening := Open(t.Context(), Options{
		Home: t.TempDir(), Cluster: settings,
		OpenStore: func(context.Context) (store.Store, error) { return nil, fmt.Errorf("schema: %w", store.ErrCorrupt) },
	})
	later := (&Host{opts: Options{Home: t.TempDir(), Cluster: settings}}).adviseOpening(store.ErrChecksum)
	for name, err := range map[string]error{"opening": opening, "later": later} {
		if got := steps(t, err); strings.Contains(got, "mv ") || !strings.Contains(got, "pg_restore ") || !strings.Contains(got, "freshet verify --repair") {
			t.Errorf("%s: %v advises\n%s", name, err, got)
		}
	}
	if got := steps(t, (&Host{opts: Options{Home: t.TempDir()}}).adviseOpening(store.ErrCorrupt)); !strings.Contains(got, "freshet verify --repair") || strings.Contains(got, "mv ") {
		t.Errorf("a data directory: %s", got)
	}
}

package meter

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	mcpserver "github.com/freshet/freshet/mcp"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
)

// quiet is a log in which nothing happens.
type quiet struct{}

func (quiet) State(context.Context) (bus.State, error) { return bus.State{}, nil }
func (quiet) Lags(context.Context, []string) (map[store.CodebaseID]natsbus.Lag, error) {
	return nil, nil
}
func (quiet) Marks(context.Context) (natsbus.Marks, error) { return natsbus.Marks{}, nil }

// Ping says that it answers.
func (quiet) Ping(context.Context) error { return nil }

// moving is a store in which a snapshot and a codebase go right after they were listed, or
// which fails.
type moving struct{ err error }

func (m moving) Codebases(context.Context) ([]store.Codebase, error) {
	return []store.Codebase{
		{ID: "there", Name: "there", Latest: 1, Current: 1}, {ID: "collected", Latest: 1, Current: 1}, {ID: "cleared"},
	}, nil
}

func (m moving) Snapshot(_ context.Context, id store.CodebaseID, _ uint64) (store.Snapshot, error) {
	if id == "collected" {
		return store.Snapshot{}, m.err
	}
	return store.Snapshot{Level: store.LevelFull}, nil
}

func (m moving) LogPosition(context.Context) (store.LogPosition, error) {
	return store.LogPosition{}, nil
}

func (m moving) Failures(_ context.Context, id store.CodebaseID) ([]store.Failure, error) {
	if id == "cleared" {
		return nil, store.ErrNotFound
	}
	return []store.Failure{{Parked: true}}, nil
}

// TestStandingWhileSnapshotsGo: what goes between two reads is left out, and the store is
// up; any other error says that it is not.
func TestStandingWhileSnapshotsGo(t *testing.T) {
	t.Parallel()
	for err, up := range map[error]string{store.ErrNotFound: "1", store.ErrNoSnapshot: "1", store.ErrUnavailable: "0"} {
		page := httptest.NewRecorder()
		standing := NewStanding(quiet{}, moving{err}, nil, time.Now, slog.New(slog.DiscardHandler))
		mcpserver.MetricsHandler(standing).ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		text := page.Body
		lines := strings.Split(text.String(), "\n")
		if !slices.Contains(lines, "freshet_store_up "+up) {
			t.Errorf("%v: the store is up or not, want %s:\n%s", err, up, text.String())
		}
		if parked := slices.Contains(lines, `freshet_parked_files{codebase="there",name="there"} 1`); parked != (up == "1") {
			t.Errorf("%v: what stays is told: %t", err, parked)
		}
	}
}

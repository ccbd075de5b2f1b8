package apply

import (
	"context"
	"errors"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
)

// TestLargeSegmentsTakeTurns: of large segments no more than the builders are built at once,
// and what an edit changed waits for none of them.
func TestLargeSegmentsTakeTurns(t *testing.T) {
	t.Parallel()
	s := New(memstore.New(memstore.Options{}), Options{Builders: 1})
	large := []store.FileEntry{{Path: "a", Size: largeBytes / 2}, {Path: "b", Size: largeBytes / 2}}
	take := func(ctx context.Context, entries []store.FileEntry) func() {
		t.Helper()
		leave, err := s.turn(ctx, entries)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	leave := take(t.Context(), large)
	take(t.Context(), large[:1])()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.turn(gone, large); !errors.Is(err, context.Canceled) {
		t.Fatalf("a second large segment: %v", err)
	}
	leave()
	take(t.Context(), large)()
}

package host

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// awaitReady asks until a session is ready, for want "", or says why it is not.
func awaitReady(t *testing.T, what string, s *Session, want string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		err := s.Ready(t.Context())
		if want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: ready says %v, want %q", what, err, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestReady: a host is ready while log and store answer, and says which of them does not; a
// session that is attached to it says the same, and becomes the host when that one ended.
func TestReady(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var cut atomic.Bool
	on := s.joinThrough(t, "one", false, nothing(), severed{s.store, &cut})
	attached := NewSession(on.opts)
	t.Cleanup(func() {
		if err := attached.Close(); err != nil {
			t.Error(err)
		}
	})
	both := func(what, want string) {
		t.Helper()
		awaitReady(t, what, on, want)
		awaitReady(t, what+", attached", attached, want)
	}
	both("at first", "")
	cut.Store(true)
	both("without the store", "the store does not answer")
	cut.Store(false)
	both("with it again", "")
	s.nats.Stop(0)
	both("without the log", "the event log does not answer")
	cut.Store(true)
	both("without both", "the event log does not answer\nthe store does not answer")
	cut.Store(false)
	s.nats.Restart(0)
	both("with both again", "")
	if err := on.Close(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, "after the host", attached, "")
	if host, err := attached.hosting(); host == nil || err != nil {
		t.Errorf("the session is not the host: %v", err)
	}
}

package natsbus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDamagedDirectoriesAreKeptTwice(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lo*g[")
	for range 4 {
		b := openOwn(t, dir)
		must(t, b.Close())
		must(t, os.WriteFile(filepath.Join(streamsDir(dir), b.wantedLog().Name, "meta.inf"), []byte("x"), 0o600))
		again := openOwn(t, dir)
		report := again.Report()
		if !report.Recreated || !strings.Contains(report.Reason, b.wantedLog().Name) {
			t.Errorf("report %+v", report)
		}
		if _, err := os.Stat(report.MovedTo); err != nil {
			t.Errorf("the damaged log is not kept: %v", err)
		}
		must(t, again.Close())
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	must(t, err)
	if len(entries) != 3 {
		t.Errorf("kept %v, want the log and 2 damaged ones", entries)
	}
}

// TestResetIsEmptyWhateverIsLeft resets while files of the stream deleted before cannot be
// removed yet, which the server does in the background.
func TestResetIsEmptyWhateverIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openOwn(t, dir)
	publishOwn(t, b, "a", 1, 3)
	// The server moves a deleted stream to this name before it removes it.
	blocker := filepath.Join(streamsDir(dir), "."+b.wantedLog().Name, "x")
	must(t, os.MkdirAll(blocker, 0o700))
	freed := make(chan error, 1)
	timer := time.AfterFunc(150*time.Millisecond, func() { freed <- os.RemoveAll(filepath.Dir(blocker)) })
	defer timer.Stop()
	state, err := b.Reset(t.Context())
	must(t, err)
	if state.Last != 0 || state.Messages != 0 {
		t.Errorf("reset to %+v", state)
	}
	must(t, <-freed)
}

// TestWhatIsNotTheFilesFaultIsPutBack cannot begin anew either, because its time is over:
// the log is left as it was.
func TestWhatIsNotTheFilesFaultIsPutBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	b := openOwn(t, dir)
	publishOwn(t, b, "a", 1, 3)
	before := b.current().id
	must(t, b.Close())
	damaged := &Bus{opts: b.opts, obsolete: map[string]uint64{}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := damaged.startAnew(ended, "a pretext", errors.New("the first error")); err == nil || !strings.Contains(err.Error(), "the first error") {
		t.Errorf("started anew with %v", err)
	}
	again := openOwn(t, dir)
	state, err := again.State(t.Context())
	must(t, err)
	if state.Incarnation != before || state.Messages != 3 || state.Gap {
		t.Errorf("afterwards: %+v", state)
	}
}

package merklesync_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
)

// fallible is a store whose writes fail while fails is set.
type fallible struct {
	store.Store
	fails atomic.Bool
}

var errDisk = errors.New("no space left on device")

func (f *fallible) PutContents(ctx context.Context, contents []store.Content) error {
	if f.fails.Load() {
		return errDisk
	}
	return f.Store.PutContents(ctx, contents)
}

func (f *fallible) PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	if f.fails.Load() {
		return errDisk
	}
	return f.Store.PutStats(ctx, id, upserts, removes)
}

// TestWhatTheStoreRefusedIsLookedAtAgain proves that a change that was heard of is not
// forgotten when it could not be committed.
func TestWhatTheStoreRefusedIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), watching(t))
	r.write("a/x.go", "package x\n")
	r.write("a/old.go", "package old\n")
	r.live()
	for _, edit := range []func(){
		func() { r.write("a/x.go", "package y\n") },
		func() { r.write("b/new.go", "package n\n") },
		func() { r.must(os.Remove(r.path("a/old.go"))) },
	} {
		r.store.fails.Store(true)
		edit()
		for range 2 {
			if _, err := r.sync.Check(t.Context()); !errors.Is(err, errDisk) {
				t.Fatalf("a check that could not commit: %v", err)
			}
		}
		r.store.fails.Store(false)
		r.same("after the store failed")
	}
	if status := r.sync.Watch(); status.State != merklesync.WatchLive {
		t.Fatalf("the watcher is %+v", status)
	}
}

// TestAuditFindsWhatNobodyHears writes through a name outside the tree that was made after
// the last scan, of which the kernel tells nobody who watches directories.
func TestAuditFindsWhatNobodyHears(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside.go")
	r := startRig(t, t.TempDir(), merklesync.Options{Outbox: silent{}, Watching: watching(t), Audit: 50 * time.Millisecond})
	r.write("x.go", "package x\n")
	r.live()
	r.same("at first")
	for deadline := time.Now().Add(patience); r.sync.Watch().Missed == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("no audit found the change; the watcher is %+v", r.sync.Watch())
		}
		_ = os.Remove(outside)
		r.must(os.Remove(r.path("x.go")))
		r.write("x.go", "package x\n")
		r.check() // it has one name
		r.must(os.Link(r.path("x.go"), outside))
		r.must(os.WriteFile(outside, []byte("package y // "+time.Now().String()+"\n"), 0o600))
		for audit := time.Now().Add(time.Second); r.sync.Watch().Missed == 0 && time.Now().Before(audit); {
			r.check()
		}
	}
	r.same("after the audit")
	r.live()
}

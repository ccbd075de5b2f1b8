package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/scan"
)

func TestProveHasHeardOfEveryFinishedWrite(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.run()
	for i := range 500 {
		name := fmt.Sprintf("f%d.go", i%50)
		r.write(name, fmt.Sprintf("package f // %d\n", i))
		if got := r.catchUp(); !slices.Equal(got, []string{name}) {
			t.Fatalf("round %d: changed are %q, want %q", i, got, name)
		}
	}
	dirty, err := r.watcher.Prove()
	r.must(err)
	if !dirty.Empty() {
		t.Fatal("something was heard although nothing changed")
	}
}

func TestProveFromManyGoroutines(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.run()
	var heard sync.Map
	var group sync.WaitGroup
	const writers, rounds = 8, 200
	for writer := range writers {
		group.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("w%d-%d", writer, i)
				r.write(name, name)
				dirty, err := r.watcher.Prove()
				if err != nil {
					t.Error(err)
					return
				}
				heard.Store(fmt.Sprint(writer, i), &dirty)
			}
		})
	}
	group.Wait()
	all := func(path string) (found bool) {
		heard.Range(func(_, d any) bool {
			found = d.(*scan.Dirty).Covers(path)
			return !found
		})
		return found
	}
	for writer := range writers {
		for i := range rounds {
			if name := fmt.Sprintf("w%d-%d", writer, i); !all(name) {
				t.Fatalf("nobody heard of %s", name)
			}
		}
	}
}

func TestChangedSpeaks(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.run()
	r.write("x.go", "package x\n")
	select {
	case <-r.watcher.Changed():
	case <-time.After(5 * time.Minute):
		t.Fatal("nothing was heard of a write")
	}
	if got := r.catchUp(); !slices.Equal(got, []string{"x.go"}) {
		t.Fatalf("changed are %q", got)
	}
	r.must(os.RemoveAll(r.root))
	for r.watcher.Err() == nil {
		select {
		case <-r.watcher.Changed():
		case <-time.After(5 * time.Minute):
			t.Fatal("nothing was heard of the end of the root")
		}
	}
}

// TestF4OverflowIsNoticed writes more than the kernel queues while nobody reads.
func TestF4OverflowIsNoticed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if limit > 1<<20 {
		t.Skipf("%d events fit into the queue", limit)
	}
	r := open(t, t.TempDir(), Options{})
	r.run()
	r.write("a", "")
	r.write("b", "")
	r.catchUp()
	r.watcher.mu.Lock() // the reader waits for it
	for i := range limit + 10 {
		_ = os.Chmod(r.path([]string{"a", "b"}[i%2]), os.FileMode(0o600|i/2%2)) // equal neighbours would be one event
	}
	r.write("lost.go", "package lost\n")
	r.watcher.mu.Unlock()
	for range 3 {
		if _, err := r.watcher.Prove(); !errors.Is(err, ErrOverflow) {
			t.Fatalf("after an overflow: %v", err)
		}
	}
	again := open(t, r.root, Options{})
	if _, ok := again.index.Lookup("lost.go"); !ok {
		t.Fatal("the scan that follows does not see what was lost")
	}
	again.write("x.go", "package x\n")
	if got := again.catchUp(); !slices.Equal(got, []string{"x.go"}) {
		t.Fatalf("the watcher that follows heard of %q", got)
	}
}

func TestWatcherBreaks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		opts Options
		harm func(r *rig) error
		want error
	}{
		{"limit of the options", Options{MaxWatches: 1}, func(r *rig) error { return os.Mkdir(r.path("d"), 0o750) }, ErrLimit},
		{"root removed", Options{}, func(r *rig) error { return os.RemoveAll(r.root) }, ErrRoot},
		{"root moved", Options{}, func(r *rig) error { return os.Rename(r.root, r.root+"-moved") }, ErrRoot},
		{"cookie removed", Options{}, func(r *rig) error {
			return os.Remove(filepath.Join(r.watcher.cookies.dir, r.watcher.cookies.name))
		}, ErrLost},
		{"cookies removed", Options{}, func(r *rig) error { return os.RemoveAll(r.watcher.cookies.dir) }, ErrLost},
		{"cookies moved", Options{}, func(r *rig) error {
			dir := r.watcher.cookies.dir
			return errors.Join(os.Rename(dir, dir+"-moved"), os.Mkdir(dir, 0o700))
		}, ErrLost},
		{"closed", Options{}, func(r *rig) error { return r.watcher.Close() }, ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "root")
			if err := os.Mkdir(root, 0o750); err != nil {
				t.Fatal(err)
			}
			r := open(t, root, test.opts)
			r.run()
			r.must(test.harm(r))
			if dirty, err := r.watcher.Prove(); err == nil {
				_, _ = r.scanner.ScanPart(t.Context(), r.index, scan.Part{Dirty: &dirty, Follower: r.watcher}, nil)
			}
			if _, err := r.watcher.Prove(); !errors.Is(err, test.want) || !errors.Is(r.watcher.Err(), test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestForeignNamesAmongCookiesProveNothing(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	cookies := r.watcher.cookies
	for i := range 5 { // names that come after the one that is there
		r.must(os.WriteFile(filepath.Join(cookies.dir, "x"), nil, 0o600))
		r.must(os.Rename(filepath.Join(cookies.dir, "x"), filepath.Join(cookies.dir, strconv.FormatUint(cookies.number+1, 36))))
		name := fmt.Sprintf("f%d.go", i)
		r.write(name, "package f\n")
		if got := r.catchUp(); !slices.Equal(got, []string{name}) {
			t.Fatalf("changed are %q, want %q", got, name)
		}
		cookies = r.watcher.cookies
	}
}

func TestUnprovenFileSystems(t *testing.T) {
	t.Parallel()
	for name, magic := range map[string]int64{
		"nfs": unix.NFS_SUPER_MAGIC, "smb": unix.SMB_SUPER_MAGIC, "smb2": 0xfe534d42, "cifs": 0xff534d42,
		"9p": unix.V9FS_MAGIC, "fuse": unix.FUSE_SUPER_MAGIC, "overlay": unix.OVERLAYFS_SUPER_MAGIC,
		"afs": unix.AFS_SUPER_MAGIC, "ceph": 0x00c36400, "proc": unix.PROC_SUPER_MAGIC, "unknown": 1,
	} {
		if local(magic) {
			t.Errorf("%s counts as local", name)
		}
	}
	if _, err := Open("/proc", Options{Dir: t.TempDir()}); !errors.Is(err, ErrUnproven) {
		t.Errorf("/proc is watched: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{Dir: t.TempDir()}); !errors.Is(err, ErrRoot) {
		t.Errorf("a root that is not there is watched: %v", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := open(t, t.TempDir(), Options{Dir: dir})
	info, err := os.Stat(r.watcher.cookies.dir)
	r.must(err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the cookies have mode %v", info.Mode())
	}
	r.must(r.watcher.Close())
	r.must(r.watcher.Close())
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

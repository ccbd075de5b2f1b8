package scan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// coarse rounds times down to a grain, as old file systems do.
func coarse(grain time.Duration) func(int64) int64 {
	return func(ns int64) int64 { return ns - ns%int64(grain) }
}

func TestF1SameSizeEditInOneTickIsSeen(t *testing.T) {
	t.Parallel()
	for _, grain := range []time.Duration{time.Second, 2 * time.Second} {
		t.Run(grain.String(), func(t *testing.T) {
			t.Parallel()
			w := newTree(t, Options{Stamp: coarse(grain)})
			for i := range 1_000 {
				w.write("a.go", fmt.Sprintf("package a // %06d\n", i))
				w.want(w.scan(), "a.go")
			}
		})
	}
}

func TestF1TimePutBackIsSeen(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a.go", "package a\n")
	info, err := os.Stat(w.path("a.go"))
	w.must(err)
	w.scan()
	w.write("a.go", "package b\n")
	w.must(os.Chtimes(w.path("a.go"), time.Time{}, info.ModTime()))
	w.want(w.scan(), "a.go")
}

func TestRacyEntriesSettle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := newTree(t, Options{Now: func() time.Time { return now }})
	w.write("a.go", "package a\n")
	w.scan()
	if e, _ := w.index.Lookup("a.go"); !e.Racy {
		t.Fatal("a file written after the scan began is not racy")
	}
	now = time.Now().Add(time.Minute)
	r := w.scan()
	if e, _ := w.index.Lookup("a.go"); e.Racy || r.Summary.HashedBytes != 10 || r.Summary.DigestedBytes != 0 {
		t.Fatalf("racy %v, %+v", e.Racy, r.Summary)
	}
	if r := w.scan(); r.Summary.Read != 0 || r.Summary.Listed != 0 || len(r.Stats) != 0 {
		t.Fatalf("a settled file is read again: %+v", r.Summary)
	}
}

func TestF3FileThatChangesWhileReadIsReadAgain(t *testing.T) {
	t.Parallel()
	states := [2]string{strings.Repeat("first\n", 100_000), strings.Repeat("other\n", 100_000)}
	w := newTree(t, Options{})
	w.write("a.txt", states[0])
	flips := 0
	w.scanner.fault = func(op, path string) error {
		if op == "read" && flips > 0 {
			flips--
			w.write(path, states[flips%2])
		}
		return nil
	}
	for _, flips = range []int{1, 2} {
		w.scan()
		leaf, _ := w.merkle.Lookup("a.txt")
		if text := w.contents[leaf.Content]; text != states[0] && text != states[1] {
			t.Fatal("torn text was kept")
		}
		w.sameAsNaive()
	}
	before, _ := w.merkle.Lookup("a.txt")
	w.write("a.txt", states[1])
	flips = 100
	r := w.scan()
	if after, _ := w.merkle.Lookup("a.txt"); after != before || len(r.Kept) != 1 || r.Kept[0].Reason != store.LeftOutUnstable {
		t.Fatalf("an unstable file did not stay as it was: %+v", r.Kept)
	}
	w.write("new.txt", "new\n")
	w.scan()
	if got := w.leftOut("new.txt"); got != store.LeftOutUnstable {
		t.Fatalf("a new unstable file is left out as %q", got)
	}
	flips = 0
	w.scan()
	w.sameAsNaive()
}

func TestF3HalfWrittenUnderOneStatIsReadAgain(t *testing.T) {
	t.Parallel()
	now := time.Now().UnixNano()
	w := newTree(t, Options{Stamp: func(int64) int64 { return now }, Granularity: time.Hour})
	w.write("a.txt", "half half\n")
	done := false
	w.scanner.fault = func(op, path string) error {
		if op == "read" && !done {
			done = true
			w.write(path, "full full\n")
		}
		return nil
	}
	w.scan()
	if leaf, _ := w.merkle.Lookup("a.txt"); leaf.Content != sha256.Sum256([]byte("full full\n")) || len(w.contents) != 1 {
		t.Fatalf("the half-written text was kept: %q", w.contents)
	}
}

func TestF11GiantFilesCostNothing(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("sparse", "")
	w.must(os.Truncate(w.path("sparse"), 10<<30))
	w.write("holes.txt", "")
	w.must(os.Truncate(w.path("holes.txt"), 1<<20))
	r := w.scan()
	w.want(r)
	if w.leftOut("sparse") != store.LeftOutTooLarge || w.leftOut("holes.txt") != store.LeftOutBinary || r.Summary.HashedBytes != 0 {
		t.Fatalf("%+v", r.Summary)
	}
	w.must(os.Truncate(w.path("sparse"), 0))
	w.want(w.scan(), "sparse")
}

func TestF12RootThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a/b.go", "package b\n")
	identity, err := Identity(w.root)
	w.must(err)
	w.scanner.opts.Identity = identity
	w.scan()
	away := w.root + ".away"
	fails := func(want error) {
		t.Helper()
		if _, err := w.try(); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	w.must(os.Rename(w.root, away))
	fails(ErrRootVanished)
	if _, err := Identity(w.root); !errors.Is(err, ErrRootVanished) {
		t.Fatal(err)
	}
	w.must(os.WriteFile(w.root, nil, 0o600))
	fails(ErrRootVanished)
	w.must(os.Remove(w.root))
	w.must(os.Mkdir(w.root, 0o755))
	fails(ErrRootReplaced)
	w.must(os.Remove(w.root))
	w.must(os.Rename(away, w.root))
	w.want(w.scan())
	w.remove("a")
	fails(ErrRootEmptied)
	w.scanner.opts.AcceptEmpty = true
	w.want(w.scan(), "-a/b.go")
}

func TestF12UnreadableKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newTree(t, Options{})
	w.write("a/b.go", "package b\n")
	w.write("c.go", "package c\n")
	w.scan()
	for _, broken := range []struct{ op, path string }{{"enter", "a"}, {"list", "a"}, {"stat", "a/b.go"}, {"open", "a/b.go"}, {"read", "a/b.go"}} {
		for _, fault := range []error{unix.EACCES, unix.EIO} {
			w.scanner.fault = func(op, path string) error {
				if op == broken.op && path == broken.path {
					return fault
				}
				return nil
			}
			w.write("a/b.go", "package b // changed but unreadable\n")
			r := w.scan()
			w.want(r)
			if len(r.Kept) != 1 || r.Kept[0].Path != broken.path || !errors.Is(r.Kept[0].Err, fault) {
				t.Fatalf("%v: kept %+v", broken, r.Kept)
			}
			w.write("a/new.go", "package new\n")
			w.scan()
			w.reload()
			w.scanner.fault = nil
			w.scan()
			w.sameAsNaive()
			w.write("a/b.go", "package b\n")
			w.remove("a/new.go")
			w.scan()
			w.sameAsNaive()
		}
	}
	w.scanner.fault = func(op, path string) error {
		if op == "enter" && path == "" {
			return unix.EACCES
		}
		return nil
	}
	if _, err := w.try(); !errors.Is(err, ErrRootUnreadable) {
		t.Fatalf("got %v", err)
	}
}

func TestF12VanishesWhileWalked(t *testing.T) {
	t.Parallel()
	w := newTree(t, Options{})
	for i := range 20 {
		w.write(fmt.Sprintf("d%d/a.go", i), "package a\n")
		w.write(fmt.Sprintf("d%d/b.go", i), "package b\n")
	}
	w.scan()
	w.scanner.fault = func(op, path string) error {
		switch {
		case op == "enter" && path == "d3":
			w.remove("d3")
		case op == "stat" && path == "d4/b.go":
			w.remove("d4/b.go")
		}
		return nil
	}
	r := w.scan()
	w.want(r, "-d3/a.go", "-d3/b.go", "-d4/b.go")
	if r.Summary.Vanished == 0 {
		t.Fatal("what vanished is not counted")
	}
	w.scanner.fault = nil
	w.scan()
	w.sameAsNaive()
}

func TestF17OddTimesHaveNoEffect(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	stamps := []time.Time{time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 0), time.Unix(-86400, 5), time.Date(2038, 1, 20, 0, 0, 0, 0, time.UTC)}
	for i, stamp := range stamps {
		w.write(fmt.Sprintf("f%d.go", i), "package a\n")
		w.must(os.Chtimes(w.path(fmt.Sprintf("f%d.go", i)), time.Time{}, stamp))
	}
	w.scan()
	if r := w.scan(); r.Summary.Read != 0 {
		t.Fatalf("%d files with odd times are read again", r.Summary.Read)
	}
	for i, stamp := range stamps {
		name := fmt.Sprintf("f%d.go", i)
		w.write(name, "package b\n")
		w.must(os.Chtimes(w.path(name), time.Time{}, stamp))
		w.want(w.scan(), name)
	}
}

func TestSinkAndContextEndAScan(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	for i := range 50 {
		w.write(fmt.Sprintf("d%d/a.go", i), fmt.Sprint(i))
	}
	full := errors.New("disk is full")
	if _, err := New(w.root, settled()).Scan(t.Context(), nil, failingSink{full}); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	r, err := New(w.root, settled()).Scan(t.Context(), nil, nil)
	w.must(err)
	if r.Summary.Files != 50 {
		t.Fatalf("%d files without a sink", r.Summary.Files)
	}
}

type failingSink struct{ err error }

func (s failingSink) Content(string, merkle.Hash, []byte) error { return s.err }

// TestContextEndsWithTheScan ends contexts at every moment of a short scan, the last ones
// included: the race detector sees what the end of the context touches.
func TestContextEndsWithTheScan(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scanner := New(root, settled())
	for range 300 {
		ctx, end := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(end)
		if _, err := scanner.ScanPart(ctx, &Index{}, Part{}, nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("scan: %v", err)
		}
		group.Wait()
	}
}

// What cannot be read is not said to be in the tree: a file, a directory, and what lies
// below it.
func TestExplainDoesNotClaimWhatItCannotRead(t *testing.T) {
	t.Parallel()
	fail := func(op, path string) error {
		if op == "enter" && path == "closed" || op == "open" && path == "a.go" {
			return unix.EACCES
		}
		return nil
	}
	w := newTree(t, Options{})
	w.write("a.go", "package a\n")
	w.write("closed/b.go", "package b\n")
	s := New(w.root, Options{Fault: fail})
	for _, path := range []string{"a.go", "closed"} {
		if e, err := s.Explain(path); err != nil || e.LeftOut != store.LeftOutUnreadable || e.Detail == "" {
			t.Errorf("%s: %+v, %v", path, e, err)
		}
	}
	if e, err := s.Explain("closed/b.go"); !errors.Is(err, unix.EACCES) {
		t.Errorf("below: %+v, %v", e, err)
	}
}

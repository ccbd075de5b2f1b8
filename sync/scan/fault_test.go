package scan

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
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

func TestF7LinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.go"), []byte("package secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newTree(t, settled())
	w.write("a/b/one.go", "package one\n")
	for name, target := range map[string]string{
		"loop": ".", "a/up": "..", "a/b/self": "self", "out": outside, "out.go": filepath.Join(outside, "secret.go"),
		"dangling": "nowhere", "a/two": "b", "a/three.go": "b/one.go", ".gitignore": "a/b/one.go", "abs": "/", "proc": "/proc/self/root",
	} {
		w.must(os.Symlink(target, w.path(name)))
	}
	w.must(os.Link(w.path("a/b/one.go"), w.path("hard.go")))
	w.want(w.scan(), "a/b/one.go", "hard.go")
	if n := w.index.Summary().LeftOut[store.LeftOutSymlink]; n != 11 {
		t.Fatalf("%d links left out, want 11", n)
	}
	w.remove("a/b")
	w.must(os.Symlink(outside, w.path("a/b")))
	w.want(w.scan(), "-a/b/one.go")
	if _, err := w.scanner.Explain("a/b/secret.go"); err != nil {
		t.Fatal(err)
	}
	if x, _ := w.scanner.Explain("a/b/secret.go"); x.LeftOut != store.LeftOutSymlink || x.Directory != "a/b" {
		t.Fatalf("explained as %+v", x)
	}
	for hash, text := range w.contents {
		if strings.Contains(text, "secret") {
			t.Fatalf("%v from outside was read", hash)
		}
	}
}

func TestF7DirectoryTurnsIntoALinkOutBeforeItIsEntered(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.go"), []byte("package secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newTree(t, Options{})
	w.write("a/b/c.go", "package c\n")
	w.scanner.fault = func(op, path string) error {
		if op == "enter" && path == "a/b" {
			w.remove("a")
			w.must(os.Mkdir(w.path("a"), 0o755))
			w.must(os.Symlink(outside, w.path("a/b")))
		}
		return nil
	}
	if r := w.scan(); r.Summary.Files != 0 || r.Summary.Vanished == 0 {
		t.Fatalf("a link was followed: %+v", r.Summary)
	}
}

func TestF8SpecialFilesAreNeverOpened(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a.go", "package a\n")
	w.must(unix.Mkfifo(w.path("fifo"), 0o644))
	w.must(unix.Mkfifo(w.path(".freshetignore"), 0o644))
	listener, err := net.Listen("unix", w.path("s"))
	w.must(err)
	defer func() { _ = listener.Close() }()
	if err := unix.Mknod(w.path("null"), unix.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Logf("no device made: %v", err)
	}
	w.want(w.scan(), "a.go")
	for _, name := range []string{"fifo", "s", ".freshetignore"} {
		if got := w.leftOut(name); got != store.LeftOutSpecial {
			t.Errorf("%s is left out as %q", name, got)
		}
	}
	w.scanner.fault = func(op, path string) error { // a file becomes a FIFO right before it is opened
		if op == "open" && path == "b.go" {
			w.remove("b.go")
			w.must(unix.Mkfifo(w.path("b.go"), 0o644))
		}
		return nil
	}
	w.write("b.go", "package b\n")
	w.want(w.scan())
	if got := w.leftOut("b.go"); got != store.LeftOutSpecial {
		t.Errorf("b.go is left out as %q", got)
	}
}

func TestF9HostileNamesSurvive(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	r := rand.New(rand.NewPCG(9, 9))
	names := map[string]bool{
		"-rf": true, "a\nb": true, "\x1b[31mred": true, "e\u0301": true, "\u00e9": true, "CASE": true, "case": true, "\xff\xfe": true, " ": true,
		strings.Repeat("n", 255): true, "a\\b": true, "\"q\"": true, "...": true, "..a": true, "\u202e": true,
	}
	for len(names) < 2_000 {
		name := make([]byte, 1+r.IntN(20))
		for i := range name {
			for name[i] == 0 || name[i] == '/' {
				name[i] = byte(r.IntN(256))
			}
		}
		if s := string(name); s != "." && s != ".." && !IsSecret(s) && s != ".git" {
			names[s] = true
		}
	}
	want := map[string]string{}
	for name := range names {
		path := "d" + fmt.Sprint(len(name)%7) + "/" + name
		w.write(path, "text of "+merkle.QuotePath(name))
		want[path] = "text of " + merkle.QuotePath(name)
	}
	w.scan()
	w.sameAsNaive()
	if w.merkle.Len() != len(want) {
		t.Fatalf("%d files of %d", w.merkle.Len(), len(want))
	}
	w.reload()
	if r := w.scan(); len(r.Stats)+len(r.Changed) != 0 {
		t.Fatalf("%d entries differ after loading", len(r.Stats))
	}
}

func TestF9DeeperThanPathMax(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	name := strings.Repeat("d", 200)
	at, err := openRoot(w.root)
	w.must(err)
	var path string
	for range 40 { // 8,000 bytes
		w.must(unix.Mkdirat(at, name, 0o755))
		next, err := openAt(at, name, dirFlags)
		w.must(err)
		_ = unix.Close(at)
		at, path = next, join(path, name)
	}
	fd, err := unix.Openat(at, "deep.go", unix.O_CREAT|unix.O_WRONLY, 0o644)
	w.must(err)
	_, err = unix.Write(fd, []byte("package deep\n"))
	w.must(err)
	_ = unix.Close(fd)
	_ = unix.Close(at)
	w.want(w.scan(), path+"/deep.go")
	if x, err := w.scanner.Explain(path + "/deep.go"); err != nil || x.Language != "Go" {
		t.Fatalf("explained as %+v, %v", x, err)
	}
	stepwise, err := func() (int, error) {
		root, err := openRoot(w.root)
		w.must(err)
		defer func() { _ = unix.Close(root) }()
		return openStepwise(root, path)
	}()
	w.must(err)
	_ = unix.Close(stepwise)
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

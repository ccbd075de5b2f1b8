package scan

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

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
		if s := string(name); s != "." && s != ".." && !secret.Named(s) && s != ".git" {
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

package scan

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

// readTree is a tree with a directory outside of it whose files all say OUTSIDE.
func readTree(t *testing.T) (w *tree, outside string) {
	t.Helper()
	outside = t.TempDir()
	for _, name := range []string{"f.go", "sub/f.go", "dir/f.go", "dir/sub/f.go", "config"} {
		path := filepath.Join(outside, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("package OUTSIDE\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w = newTree(t, settled())
	for _, name := range []string{"f.go", "dir/f.go", "dir/sub/f.go", "dir/config"} {
		w.write(name, "package inside\n")
	}
	w.write(".git/config", "OUTSIDE of the tree\n")
	w.write(".env", "KEY=OUTSIDE\n")
	identity, err := Identity(w.root)
	w.must(err)
	w.scanner = New(w.root, Options{Identity: identity})
	return w, outside
}

// swap exchanges two names as one step.
func swap(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// Each part of the path is exchanged at the moment between judging and reading.
func TestReadTakesTheBytesFromWhatWasJudged(t *testing.T) {
	t.Parallel()
	for name, exchange := range map[string]func(w *tree, outside string) error{
		"the root, by a link": func(w *tree, outside string) error {
			return errors.Join(os.Rename(w.root, w.root+".away"), os.Symlink(outside, w.root))
		},
		"the root, by a directory": func(w *tree, outside string) error { return swap(w.root, outside) },
		"a directory, by a link": func(w *tree, outside string) error {
			return errors.Join(os.Rename(w.path("dir"), w.path("away")), os.Symlink(filepath.Join(outside, "dir"), w.path("dir")))
		},
		"a directory, carried out": func(w *tree, outside string) error {
			moved := filepath.Join(outside, "moved")
			return errors.Join(os.Rename(w.path("dir"), moved), os.WriteFile(filepath.Join(moved, "sub/f.go"), []byte("package OUTSIDE\n"), 0o600))
		},
		"the file, by a link": func(w *tree, outside string) error {
			return errors.Join(os.Remove(w.path("dir/sub/f.go")), os.Symlink(filepath.Join(outside, "f.go"), w.path("dir/sub/f.go")))
		},
		"the file, by a pipe": func(w *tree, _ string) error {
			return errors.Join(os.Remove(w.path("dir/sub/f.go")), unix.Mkfifo(w.path("dir/sub/f.go"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, outside := readTree(t)
			var once bool
			w.scanner.fault = func(op, _ string) error {
				if op != "read judged" || once {
					return nil
				}
				once = true
				return exchange(w, outside)
			}
			out, data, err := w.scanner.Read("dir/sub/f.go")
			if !once {
				t.Fatal("nothing was exchanged")
			}
			if strings.Contains(string(data), "OUTSIDE") {
				t.Fatalf("read %q, %+v, %v", data, out, err)
			}
		})
	}
}

// A root that another directory stands at is refused, whatever that holds.
func TestReadAndDigestRefuseAnotherRoot(t *testing.T) {
	t.Parallel()
	w, outside := readTree(t)
	w.must(swap(w.root, outside))
	if _, data, err := w.scanner.Read("f.go"); !errors.Is(err, ErrRootReplaced) || data != nil {
		t.Fatalf("read %q, %v", data, err)
	}
	if hash, err := w.scanner.Digest("f.go"); !errors.Is(err, ErrRootReplaced) || !hash.IsZero() {
		t.Fatalf("digest %v, %v", hash, err)
	}
}

// While another goroutine swaps the root, directories, files and .git for links that lead
// out and back again, no byte from outside is read in any of many tries.
func TestReadNeverLeavesTheTreeUnderASwapRace(t *testing.T) {
	t.Parallel()
	w, outside := readTree(t)
	links := t.TempDir()
	var pairs [][2]string
	for inside, target := range map[string]string{
		w.root: outside, w.path("dir"): filepath.Join(outside, "dir"), w.path("dir/sub"): filepath.Join(outside, "sub"),
		w.path("f.go"): filepath.Join(outside, "f.go"), w.path("dir/config"): w.path(".git/config"), w.path("dir/f.go"): w.path(".env"),
	} {
		link := filepath.Join(links, strings.ReplaceAll(inside, "/", "_"))
		w.must(os.Symlink(target, link))
		pairs = append(pairs, [2]string{inside, link})
	}
	var swaps atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			pair := pairs[i%len(pairs)]
			if swap(pair[0], pair[1]) == nil {
				swaps.Add(1)
				_ = swap(pair[0], pair[1])
			}
		}
	}()
	inside := 0
	const tries = 4_000
	for i := range tries {
		path := []string{"f.go", "dir/f.go", "dir/sub/f.go", "dir/config", ".env", ".git/config"}[i%6]
		_, data, _ := w.scanner.Read(path)
		if strings.Contains(string(data), "OUTSIDE") {
			t.Errorf("%s: read %q", path, data)
		}
		if len(data) > 0 {
			inside++
		}
	}
	close(stop)
	<-done
	t.Logf("%d swaps beside %d reads, %d of which gave bytes", swaps.Load(), tries, inside)
	if swaps.Load() == 0 || inside == 0 {
		t.Fatalf("%d swaps, %d reads of the tree: nothing was tried", swaps.Load(), inside)
	}
}

// What leaves a file out of the tree is said of the bytes that are read, and a secret by
// name is one before all else, in every layout.
func TestReadSaysWhyAFileIsNotInTheTree(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.scanner.root = w.root
	w.write(".gitignore", "ignored/\n*.log\n.env\n")
	for _, dir := range []string{"", "ignored/", "ignored/deep/", "nested/", "nested/below/", "sub/"} {
		w.write(dir+"x.go", "package x\n")
		w.write(dir+"x.log", "text\n")
		w.write(dir+".env", "KEY=1\n")
	}
	w.write("nested/.git/HEAD", "ref: refs/heads/main\n")
	w.write("sub/.git", "gitdir: ../.git/modules/sub\n")
	w.write("binary.dat", "a\x00b")
	w.must(os.Symlink("x.go", w.path("link.go")))
	for path, want := range map[string]store.LeftOut{
		"x.go": "", "x.log": store.LeftOutIgnored, "ignored/x.go": store.LeftOutIgnored, "ignored/deep/x.go": store.LeftOutIgnored,
		"nested/x.go": store.LeftOutNested, "nested/below/x.go": store.LeftOutNested, "sub/x.go": store.LeftOutNested,
		"binary.dat": store.LeftOutBinary, "link.go": store.LeftOutSymlink,
		".env": store.LeftOutSecret, "ignored/.env": store.LeftOutSecret, "ignored/deep/.env": store.LeftOutSecret, "nested/.env": store.LeftOutSecret,
		"nested/below/.env": store.LeftOutSecret, "sub/.env": store.LeftOutSecret, "./x/../.env": store.LeftOutSecret, "no/such/.env": store.LeftOutSecret,
	} {
		out, data, err := w.scanner.Read(path)
		if err != nil || out.LeftOut != want {
			t.Errorf("%s: %q, %v, want %q", path, out.LeftOut, err, want)
		}
		if shown := want != store.LeftOutSecret && want != store.LeftOutSymlink; (len(data) > 0) != shown {
			t.Errorf("%s: %d bytes", path, len(data))
		}
		if want != store.LeftOutSecret {
			continue
		}
		if hash, err := w.scanner.Digest(path); err != nil || !hash.IsZero() {
			t.Errorf("%s: digest %v, %v", path, hash, err)
		}
		if x, err := w.scanner.Explain(path); path != "no/such/.env" && (err != nil || x.LeftOut != store.LeftOutSecret) {
			t.Errorf("%s: explained as %+v, %v", path, x, err)
		}
	}
	for path, want := range map[string]error{"nested": ErrMissing, "": ErrMissing, "no": ErrMissing, "x.go/y": ErrMissing, ".git/HEAD": ErrInGit, ".GIT/HEAD": ErrInGit, "../x": ErrOutside} {
		if _, data, err := w.scanner.Read(path); !errors.Is(err, want) || data != nil {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

package corpus

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archived is a folder of files as each ecosystem packs it, and one file too large to want.
func archived() map[string]string {
	return map[string]string{"a.go": "package a\n", "lib/b.js": "let b\n", "large.c": "int largeint large;\n"}
}

func tarOf(t *testing.T, top string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"a.go", "large.c", "lib/b.js"} {
		data := archived()[name]
		if err := w.WriteHeader(&tar.Header{Name: top + "/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func moduleZip(t *testing.T, top string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range archived() {
		f, err := w.Create(top + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWalk(t *testing.T) {
	t.Parallel()
	cache := &Cache{Dir: t.TempDir(), GOROOT: t.TempDir()}
	put := func(s Source, name string, data []byte) Source {
		if err := os.MkdirAll(cache.folder(s), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cache.folder(s), name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		return s
	}
	sources := []Source{
		put(Source{Kind: NPM, Name: "@a/b", Version: "1.0.0"}, "a-b-1.0.0.tgz", zipped(t, tarOf(t, "package"))),
		put(Source{Kind: Debian, Name: "b", Version: "1:1.0-1"}, "b_1.0.orig.tar.gz", zipped(t, tarOf(t, "b-1.0"))),
		put(Source{Kind: Module, Name: "example.org/m/v2", Version: "v2.0.0"}, "source.zip", moduleZip(t, "example.org/m/v2@v2.0.0")),
	}
	if xz, err := exec.LookPath("xz"); err == nil {
		cmd := exec.Command(xz, "-c")
		cmd.Stdin = bytes.NewReader(tarOf(t, "c-1.0"))
		packed, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, put(Source{Kind: Debian, Name: "c", Version: "1.0-1"}, "c_1.0.orig.tar.xz", packed))
	}
	want := map[string]string{"a.go": archived()["a.go"], "lib/b.js": archived()["lib/b.js"]}
	for _, s := range sources {
		got := map[string]string{}
		err := cache.Walk(t.Context(), s, Visit{
			Wants: func(_ string, size int64) bool { return size < 15 },
			File:  func(name string, data []byte) error { got[name] = string(data); return nil },
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", s, err, diff)
		}
		before, err := cache.Digest(t.Context(), s)
		if err != nil {
			t.Errorf("digest of %s: %v", s, err)
		}
		s.Digest = before + "x"
		if err := cache.Fetch(t.Context(), s); !errors.Is(err, ErrAltered) {
			t.Errorf("fetch of an altered %s: %v, want ErrAltered", s, err)
		}
	}
	stop := errors.New("stop")
	err := cache.Walk(t.Context(), sources[len(sources)-1], Visit{
		Wants: func(string, int64) bool { return true }, File: func(string, []byte) error { return stop },
	})
	if !errors.Is(err, stop) {
		t.Errorf("walk that is stopped: %v, want the visitor's error", err)
	}
	if err := cache.Walk(t.Context(), Source{Kind: NPM, Name: "none", Version: "1"}, Visit{}); !errors.Is(err, ErrGone) {
		t.Errorf("walk of what is not there: %v, want ErrGone", err)
	}
}

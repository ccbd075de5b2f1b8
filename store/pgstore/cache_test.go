package pgstore

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
)

// cached lists the files of a cache.
func cached(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+cacheSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// opened reads a segment and gives it back.
func opened(t testing.TB, s *Store, id store.SegmentID) []byte {
	t.Helper()
	g, err := s.OpenSegment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Clone(g.Bytes())
	if err := errors.Join(g.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSegmentsAreCached writes segments on one host and reads them on another: of several
// parts, damaged in the cache, gone from it, and more than it may hold.
func TestSegmentsAreCached(t *testing.T) {
	t.Parallel()
	writer := openTenant(t, Options{})
	if _, err := writer.Register(t.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 2*partSize+17)
	_, _ = rand.Read(big) // never fails
	put := func(data []byte) store.SegmentID {
		id, err := writer.PutSegment(t.Context(), "a", 1, 1, data)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, empty := put(big), put(nil)
	dir := t.TempDir()
	reader := openTenant(t, Options{Tenant: writer.tenant, CacheDir: dir, CacheBytes: int64(len(big)) + 10})
	if got := opened(t, reader, first); !bytes.Equal(got, big) {
		t.Fatal("a segment of several parts differs")
	}
	if got := opened(t, reader, empty); len(got) != 0 {
		t.Fatalf("an empty segment has %d bytes", len(got))
	}

	file := filepath.Join(dir, "")
	for _, name := range cached(t, dir) {
		if info, err := os.Stat(name); err == nil && info.Size() == int64(len(big)) {
			file = name
		}
	}
	damaged := bytes.Clone(big)
	damaged[7]++
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	next := openTenant(t, Options{Tenant: writer.tenant, CacheDir: dir, CacheBytes: int64(len(big)) + 10})
	if got := opened(t, next, first); !bytes.Equal(got, big) {
		t.Fatal("a damaged file was served")
	}

	second := bytes.Clone(big)
	second[0]++
	id := put(second)
	if got := opened(t, next, id); !bytes.Equal(got, second) {
		t.Fatal("the second segment differs")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache holds more than it may: %v", cached(t, dir))
	}
	if got := opened(t, next, first); !bytes.Equal(got, big) {
		t.Fatal("a segment that was dropped from the cache differs")
	}
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			for _, id := range []store.SegmentID{first, id} {
				held, err := reader.OpenSegment(t.Context(), id)
				if err != nil {
					return err
				}
				if len(held.Bytes()) != len(big) {
					return errors.New("a segment is cut short")
				}
				if err := held.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestDamagedSegmentIsNotServed damages what the server holds.
func TestDamagedSegmentIsNotServed(t *testing.T) {
	t.Parallel()
	writer := openTenant(t, Options{})
	fill(t, writer, "a")
	if _, err := rawConn(t, database(t), "").Exec(t.Context(), "UPDATE segment_parts SET body = 'damaged' WHERE tenant = $1", writer.tenant); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reader := openTenant(t, Options{Tenant: writer.tenant, CacheDir: dir})
	view, err := reader.View(t.Context(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.OpenSegment(t.Context(), view.Segments[0].ID); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("damaged: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left in the cache: %v %v", left, err)
	}
}

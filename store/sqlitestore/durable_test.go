//go:build linux && (amd64 || arm64)

package sqlitestore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest/fsyncs"
)

// segmentNames lists the names in the directory of segments.
func segmentNames(t *testing.T, s *Store) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, segmentDir))
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// hasRow reports whether the row of a segment is committed.
func hasRow(t *testing.T, s *Store, id store.SegmentID) bool {
	t.Helper()
	opened, err := s.OpenSegment(t.Context(), id)
	if err == nil {
		err = opened.Close()
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	return !errors.Is(err, store.ErrNotFound)
}

// TestASegmentIsDurableByNameBeforeItsRow: its bytes are synced, then its directory once it
// has its name there, and only then the row that speaks of it is committed.
func TestASegmentIsDurableByNameBeforeItsRow(t *testing.T) {
	s := openAt(t, t.TempDir(), nil)
	if _, err := s.Register(t.Context(), store.Codebase{ID: testCodebase, Root: "/a"}); err != nil {
		t.Fatal(err)
	}
	var made store.SegmentID
	var steps []string
	err := fsyncs.Watch(t, func() (err error) {
		made, err = s.PutSegment(t.Context(), testCodebase, 5, 5, testSegment(1))
		return err
	}, func(path string) unix.Errno {
		switch names := segmentNames(t, s); {
		case strings.HasPrefix(filepath.Base(path), "unfinished-"):
			steps = append(steps, "bytes")
		case path == filepath.Join(s.dir, segmentDir):
			if !slices.Equal(names, []string{"1" + segmentSuffix}) || hasRow(t, s, 1) {
				t.Errorf("the directory is synced with %v, or when the row is committed", names)
			}
			steps = append(steps, "name")
		}
		return 0
	})
	if err != nil || made != 1 || !slices.Equal(steps, []string{"bytes", "name"}) {
		t.Fatalf("segment %d: synced were %v, %v", made, steps, err)
	}
}

// TestASegmentWhoseNameIsNotDurableIsNotPut: neither row nor file is left of a segment when a
// sync of it or of its directory fails.
func TestASegmentWhoseNameIsNotDurableIsNotPut(t *testing.T) {
	for _, failing := range []string{"bytes", "name"} {
		s := openAt(t, t.TempDir(), nil)
		if _, err := s.Register(t.Context(), store.Codebase{ID: testCodebase, Root: "/a"}); err != nil {
			t.Fatal(err)
		}
		err := fsyncs.Watch(t, func() error {
			_, err := s.PutSegment(t.Context(), testCodebase, 5, 5, testSegment(1))
			return err
		}, func(path string) unix.Errno {
			directory := path == filepath.Join(s.dir, segmentDir)
			if directory == (failing == "name") && strings.HasPrefix(path, filepath.Join(s.dir, segmentDir)) {
				return unix.EIO
			}
			return 0
		})
		if names := segmentNames(t, s); !errors.Is(err, unix.EIO) || len(names) > 0 || hasRow(t, s, 1) {
			t.Errorf("the sync of the %s failed: %v; left are the row or the files %v", failing, err, names)
		}
	}
}

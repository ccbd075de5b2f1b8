package pipeline_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/sqlitestore"
	"github.com/freshet/freshet/sync/merkle"
)

// folder is a tree on disk.
type folder string

func (f folder) Reread(_ context.Context, _ store.CodebaseID, path string, _ merkle.Hash) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), path))
}

// Promise 8 for rows: a clone shares the rows of another codebase, one of which is damaged. It
// is sealed full all the same, the row is made again from the tree, and nothing is parked.
func TestDamagedRowsAreMadeAgain(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"content": "UPDATE contents SET size = size - 1 WHERE hash = ?",
		"syntax":  "UPDATE syntaxes SET body = substr(body, 1, length(body) - 1) || x'ff' WHERE content = ?",
		"vector":  "UPDATE vectors SET body = substr(body, 1, length(body) - 1) || x'ff' WHERE text = (SELECT substr(texts, 1, 32) FROM syntaxes WHERE content = ?)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closeOf(t, s) })
			r := newRig(t, rigOptions{store: s})
			smallTree(r)
			kept := goFile("kept", "steady")
			r.write("kept.go", kept)
			r.catchUp()
			r.stop()
			hash := sha256.Sum256([]byte(kept))
			damage(t, filepath.Join(dir, "freshet.db"), statement, hash[:])
			clone := t.TempDir()
			r.must(os.CopyFS(clone, os.DirFS(r.root)))
			r = newRig(t, rigOptions{store: s, root: clone, name: "clone", reconcile: time.Second})
			r.catchUp()
			failures, err := s.Failures(t.Context(), r.codebase.ID)
			r.must(err)
			for _, f := range failures {
				if f.Parked {
					t.Errorf("parked: %+v", f)
				}
			}
			r.wantClean()
			r.must(s.Check(t.Context()))
		})
	}
}

// damage changes one row of a store behind its back.
func damage(t *testing.T, file, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	result, err := db.ExecContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	n, err := result.RowsAffected()
	if err := errors.Join(err, db.Close()); err != nil || n != 1 {
		t.Fatalf("%d rows were damaged, %v; want 1", n, err)
	}
}

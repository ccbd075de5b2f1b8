package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// editor changes a tree: it writes, deletes and renames files.
type editor struct {
	tree   string
	random *rand.Rand
	made   int // changes so far; no text is written twice
}

// pace is the time between two changes: 20 a second.
const pace = 50 * time.Millisecond

// places is how many paths an editor writes.
const places = 60

func (e *editor) path() string {
	n := e.random.IntN(places)
	return filepath.Join(e.tree, fmt.Sprintf("part%d", n%5), fmt.Sprintf("file%d%s", n, []string{".go", ".py", ".md"}[n%3]))
}

// edit makes one change. A path that is not there is written.
func (e *editor) edit() error {
	e.made++
	path := e.path()
	if _, err := os.Stat(path); err == nil {
		switch e.random.IntN(6) {
		case 0:
			return os.Remove(path)
		case 1:
			// To another name of its kind: a text is cut by its language.
			return os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("moved%d%s", e.random.IntN(8), filepath.Ext(path))))
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(e.text(filepath.Ext(path))), 0o644)
}

func (e *editor) text(extension string) string {
	n, m := e.made, e.random.IntN(1000)
	switch extension {
	case ".go":
		return fmt.Sprintf("package part\n\n// Alpha%d counts to %d.\nfunc Alpha%d() int { return %d }\n\n// Beta is never changed.\nfunc Beta() {}\n", n, m, n, m)
	case ".py":
		return fmt.Sprintf("class Gamma%d:\n    def delta(self):\n        return %d\n", n, m)
	}
	return fmt.Sprintf("# Change %d\n\nIt says %d.\n", n, m)
}

// edit has the editor make changes until ctx ends.
func editUntil(ctx context.Context, e *editor) error {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := e.edit(); err != nil {
			return err
		}
	}
}

// editing changes the tree until the returned function is called.
func editing(t *testing.T, e *editor) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- editUntil(ctx, e) }() // ends when stop is called
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

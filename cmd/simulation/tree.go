package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// tree is a working tree of real files, whose times are those of the virtual clock.
type tree struct {
	root   string
	files  map[string]string // content by path; owned by the driver
	hidden bool
	last   map[string]int64 // the real time of the last change by path; owned by the driver

	mu         sync.Mutex // guards what follows: scans read it
	stamps     map[int64]int64
	unreadable map[string]bool
	unknown    error
}

// newTree makes a tree in memory where there is a file system for that.
func newTree() (*tree, error) {
	root, err := os.MkdirTemp("/dev/shm", "freshet-simulation-")
	if err != nil {
		root, err = os.MkdirTemp("", "freshet-simulation-")
	}
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, files: map[string]string{}, last: map[string]int64{}, stamps: map[int64]int64{}, unreadable: map[string]bool{}}
	return t, t.write("keep.txt", text(0))
}

func (t *tree) close() error { return os.RemoveAll(t.root) }

func (t *tree) full(path string) string { return filepath.Join(t.root, path) }

// text is a content. Those of all versions have one length, and a word that is theirs.
func text(version int) string {
	lines := []string{"// " + token(version) + " is a word of its own."}
	for i := range 3 {
		lines = append(lines, fmt.Sprintf("func step%02d%02d() { call(%02d) }", version, i, version), "")
	}
	if version == poison {
		lines[1] = "rejected" + lines[1][len("rejected"):]
	}
	return strings.Join(lines, "\n") + "\n"
}

// token is a word that only one version has.
func token(version int) string { return fmt.Sprintf("token%02dxyz", version) }

func (t *tree) write(path, content string) error {
	full := t.full(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		return err
	}
	t.files[path] = content
	return t.stamp(path)
}

func (t *tree) remove(path string) error {
	if _, ok := t.files[path]; !ok {
		return nil
	}
	delete(t.files, path)
	t.readable(path)
	if err := os.Remove(t.full(path)); err != nil {
		return err
	}
	return t.stamp(path)
}

func (t *tree) rename(from, to string) error {
	content, ok := t.files[from]
	if !ok || from == to {
		return nil
	}
	t.readable(from)
	t.readable(to)
	if err := os.MkdirAll(filepath.Dir(t.full(to)), 0o755); err != nil {
		return err
	}
	if err := os.Rename(t.full(from), t.full(to)); err != nil {
		return err
	}
	delete(t.files, from)
	t.files[to] = content
	return errors.Join(t.stamp(from), t.stamp(to))
}

// ignore writes or removes the ignore file.
func (t *tree) ignore() error {
	if t.hidden = !t.hidden; t.hidden {
		return t.write(".gitignore", "*.py\n")
	}
	return t.remove(".gitignore")
}

// lock makes a file unreadable, for the superuser too.
func (t *tree) lock(path string) error {
	if _, ok := t.files[path]; !ok || path == ".gitignore" {
		return nil
	}
	t.mu.Lock()
	t.unreadable[path] = true
	t.mu.Unlock()
	return t.stamp(path)
}

func (t *tree) readable(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unreadable, path)
}

// unlock makes every file readable.
func (t *tree) unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.unreadable)
}

// fault is scan.Options.Fault.
func (t *tree) fault(op, path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if op == "open" && t.unreadable[path] {
		return syscall.EACCES
	}
	return nil
}

// Reread returns what a file holds now; it makes the tree a stage.Tree.
func (t *tree) Reread(_ context.Context, _ store.CodebaseID, path string, h merkle.Hash) ([]byte, error) {
	if err := t.fault("open", path); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(t.full(path))
	if err == nil && hashOf(string(data)) != h {
		err = errors.New("the file has changed")
	}
	return data, err
}

// granularity is that of the simulated file system: two changes within it may have one
// stamp.
const granularity = 10 * time.Millisecond

// stamp gives the new times of a path and of the directories above it their virtual time.
func (t *tree) stamp(path string) error {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		if err := t.stampOne(t.full(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if path == "." {
			return nil
		}
	}
}

func (t *tree) stampOne(full string) error {
	now := time.Now().Truncate(granularity).UnixNano()
	for {
		var st syscall.Stat_t
		if err := syscall.Lstat(full, &st); err != nil {
			return err
		}
		changed, modified := st.Ctim.Nano(), st.Mtim.Nano()
		if t.last[full] == changed {
			return nil
		}
		t.mu.Lock()
		known, taken := t.stamps[changed]
		if !taken {
			t.stamps[changed] = now
		}
		if _, ok := t.stamps[modified]; !ok {
			t.stamps[modified] = now
		}
		t.mu.Unlock()
		if !taken || known == now {
			t.last[full] = changed
			return nil
		}
		// Another change has this time of the real clock: take another one.
		if err := os.Chmod(full, os.FileMode(st.Mode&0o777)); err != nil {
			return err
		}
	}
}

// virtual is scan.Options.Stamp.
func (t *tree) virtual(ns int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	stamp, ok := t.stamps[ns]
	if !ok {
		t.unknown = fmt.Errorf("the tree has a time of %d ns that no operation gave", ns)
	}
	return stamp
}

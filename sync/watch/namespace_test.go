package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/scan"
)

// childEnv names the part that this program plays in namespaces of its own, where limits
// and mounts are nobody else's.
const childEnv = "FRESHET_WATCH_CHILD"

// unshared means that the child could not set up what it needs.
const unshared = 77

// TestRealLimits meets the kernel's own limits, and mounts over a watched directory.
func TestRealLimits(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"watches", "instances", "mount", "other mount"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+verb, "FRESHET_WATCH_ROOT="+t.TempDir())
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			switch {
			case err == nil:
			case errors.As(err, &exit) && exit.ExitCode() != unshared:
				t.Fatalf("%v: %s", err, out)
			default:
				t.Skipf("no namespaces here: %v: %s", err, out)
			}
		})
	}
}

func child(verb string) int {
	root := os.Getenv("FRESHET_WATCH_ROOT")
	err := map[string]func(string) error{
		"watches": exhaustWatches, "instances": exhaustInstances, "mount": mountOver, "other mount": mountBeside,
	}[verb](root)
	if err == nil {
		return 0
	}
	fmt.Println(err)
	if errors.Is(err, errSetUp) {
		return unshared
	}
	return 1
}

var errSetUp = errors.New("set up")

func limit(name, value string) error {
	if err := os.WriteFile("/proc/sys/user/"+name, []byte(value), 0); err != nil {
		return fmt.Errorf("%w: %w", errSetUp, err)
	}
	return nil
}

// tree makes directories tree/d0 to tree/d4 and cookies below root.
func tree(root string) (string, Options, error) {
	var err error
	for i := range 5 {
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, fmt.Sprintf("tree/d%d", i)), 0o750))
	}
	return filepath.Join(root, "tree"), Options{Dir: root}, err
}

// want scans with a watcher and checks why it broke.
func want(w *Watcher, root string, reason error) error {
	if _, err := scan.New(root, scan.Options{}).ScanPart(context.Background(), nil, scan.Part{Follower: w}, nil); err != nil {
		return err
	}
	if _, err := w.Prove(); !errors.Is(err, reason) {
		return fmt.Errorf("got %w, want %w", err, reason)
	}
	return nil
}

func exhaustWatches(dir string) error {
	root, opts, err := tree(dir)
	if err != nil {
		return err
	}
	if err := limit("max_inotify_watches", "4"); err != nil {
		return err
	}
	w, err := Open(root, opts)
	if err != nil {
		return err
	}
	return errors.Join(want(w, root, ErrLimit), w.Close())
}

func exhaustInstances(dir string) error {
	root, opts, err := tree(dir)
	if err != nil {
		return err
	}
	if err := limit("max_inotify_instances", "1"); err != nil {
		return err
	}
	w, err := Open(root, opts)
	if err != nil {
		return err
	}
	if _, err := Open(root, opts); !errors.Is(err, ErrLimit) {
		return fmt.Errorf("got %w, want a limit", err)
	}
	return errors.Join(want(w, root, nil), w.Close())
}

func mountOver(dir string) error { return mounting(dir, "tree/d3", ErrUnproven) }

func mountBeside(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "beside"), 0o750); err != nil {
		return err
	}
	return mounting(dir, "beside", nil)
}

// mounting watches a tree, mounts a file system, and wants the next scan of what the
// watcher doubts to end as given.
func mounting(dir, at string, reason error) error {
	root, opts, err := tree(dir)
	if err != nil {
		return err
	}
	w, err := Open(root, opts)
	if err != nil {
		return err
	}
	if err := want(w, root, nil); err != nil {
		return err
	}
	if err := unix.Mount("none", filepath.Join(dir, at), "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("%w: %w", errSetUp, err)
	}
	dirty, err := w.Prove()
	if err != nil || !dirty.Whole() {
		return fmt.Errorf("a mount was not noticed: %w", errors.Join(err, errors.New("not all is dirty")))
	}
	return errors.Join(want(w, root, reason), w.Close())
}

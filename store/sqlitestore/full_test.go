package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

const limitEnv = "FRESHET_STORE_TEST_LIMIT"

// childFills writes until its small disk is full, and then shows that nothing is lost.
func childFills() {
	if err := fillDisk(context.Background(), os.Getenv(dirEnv), os.Getenv(limitEnv)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("PASS")
	os.Exit(0)
}

const diskSize = 3 << 20

func fillDisk(ctx context.Context, dir, limit string) error {
	ballast := filepath.Join(dir, "ballast")
	if limit == "tmpfs" {
		if err := unix.Mount("freshet", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		if err := os.WriteFile(ballast, make([]byte, diskSize/4), 0o600); err != nil {
			return err
		}
	}
	s, err := Open(ctx, filepath.Join(dir, "store"), Options{})
	if err != nil {
		return err
	}
	if _, err := s.Register(ctx, store.Codebase{ID: testCodebase, Root: "/a"}); err != nil {
		return err
	}
	if limit == "rlimit" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: diskSize / 4, Max: diskSize}); err != nil {
			return err
		}
	}
	sealed, err := fillUntilFull(ctx, s)
	if err != nil {
		return err
	}
	if err := readAll(ctx, s, sealed); err != nil {
		return fmt.Errorf("reading on a full disk: %w", err)
	}
	if limit == "tmpfs" {
		err = os.Remove(ballast)
	} else {
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: diskSize, Max: diskSize})
	}
	if err != nil {
		return err
	}
	return goOn(ctx, s, sealed)
}

func fillUntilFull(ctx context.Context, s *Store) (sealed uint64, err error) {
	for n := uint64(1); ; n++ {
		err := advance(ctx, s, n, func(string) {})
		if errors.Is(err, store.ErrDiskFull) {
			return n - 1, nil
		}
		if err != nil || n > 10000 {
			return 0, fmt.Errorf("snapshot %d: the disk is full and the error is %w", n, err)
		}
	}
}

func readAll(ctx context.Context, s *Store, sealed uint64) error {
	for n := uint64(1); n <= sealed; n++ {
		if err := verifySnapshot(ctx, s, n); err != nil {
			return err
		}
	}
	return s.Check(ctx)
}

// goOn shows that the store writes again once there is room, in this life and the next.
func goOn(ctx context.Context, s *Store, sealed uint64) error {
	c, err := s.Codebase(ctx, testCodebase)
	if err != nil {
		return err
	}
	if c.Latest > sealed {
		if err := s.Abandon(ctx, testCodebase, c.Latest); err != nil {
			return err
		}
	}
	if err := advance(ctx, s, c.Latest+1, func(string) {}); err != nil {
		return fmt.Errorf("writing with room again: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(ctx, s.Dir(), Options{}); err != nil {
		return err
	}
	return firstError(readAll(ctx, s, sealed), verifySnapshot(ctx, s, c.Latest+1), s.Close())
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"tmpfs", "rlimit"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childEnv+"=fill", dirEnv+"="+t.TempDir(), limitEnv+"="+limit)
			if limit == "tmpfs" {
				child.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
				}
			}
			out, err := child.CombinedOutput()
			if limit == "tmpfs" && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || strings.HasPrefix(string(out), "mount:")) {
				t.Skipf("no mounts of our own here: %v %s", err, out)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		})
	}
}

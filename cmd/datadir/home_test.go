package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/mcp/tool"
)

// TestHomeOfOthers: a data directory that other users own or may write to is refused, with
// what to do; an empty one of this user is closed to them.
func TestHomeOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		mode    os.FileMode
		uid     int
		full    bool
		refused string
	}{
		{"mine", 0o700, -1, true, ""},
		{"readable", 0o755, -1, true, ""},
		{"for everybody", 0o777, -1, false, "chmod 700"},
		{"for everybody, in use", 0o777, -1, true, "chmod 700"},
		{"sticky", 0o777 | os.ModeSticky, -1, false, "chmod 700"},
		{"of the group, empty", 0o770, -1, false, ""},
		{"of the group, in use", 0o770, -1, true, "chmod 700"},
		{"of another user", 0o700, 12345, false, "ls -ld"},
		{"of another user, for everybody", 0o777, 12345, true, "ls -ld"},
	} {
		home := filepath.Join(t.TempDir(), "home")
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chmod(home, c.mode)); err != nil {
			t.Fatal(err)
		}
		if c.full {
			if err := os.WriteFile(filepath.Join(home, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.uid >= 0 {
			if os.Geteuid() != 0 {
				t.Logf("%s: not tried, only root gives a directory away", c.name)
				continue
			}
			if err := os.Chown(home, c.uid, c.uid); err != nil {
				t.Fatal(err)
			}
		}
		lock, err := datadir.Lock(home)
		_, terr := datadir.Token(home)
		_, cerr := socket.Call(t.Context(), home, "test", "ready", nil, nil)
		if c.refused == "" {
			if err != nil || terr != nil {
				t.Errorf("%s: refused: %v, %v", c.name, err, terr)
				continue
			}
			_ = lock.Close()
			if info, err := os.Stat(home); err != nil || info.Mode().Perm()&0o022 != 0 {
				t.Errorf("%s: left with the mode %s, %v", c.name, info.Mode(), err)
			}
			continue
		}
		for who, err := range map[string]error{"the host": err, "the token": terr, "a client": cerr} {
			var known *tool.Error
			if !errors.As(err, &known) || known.Code != tool.CodePermissionDenied || len(known.NextSteps) != 1 ||
				!strings.Contains(tool.Command(known.NextSteps[0]), c.refused) {
				t.Errorf("%s: %s says %v", c.name, who, err)
			}
		}
	}
}

// TestToken is made once, for its owner only, and refused where another could have made it.
func TestToken(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "made", "here")
	tokens := make(chan string, 8)
	for range cap(tokens) {
		go func() {
			token, err := datadir.Token(home)
			if err != nil {
				t.Error(err)
			}
			tokens <- token
		}()
	}
	first := <-tokens
	for range cap(tokens) - 1 {
		if token := <-tokens; token != first || len(token) != 64 {
			t.Fatalf("two tokens: %q and %q", first, token)
		}
	}
	for path, mode := range map[string]os.FileMode{home: 0o700, datadir.TokenPath(home): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has the mode %s, %v", path, info.Mode(), err)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
	for name, plant := range map[string]func(path string) error{
		"for others": func(path string) error { return os.Chmod(path, 0o644) },
		"cut off":    func(path string) error { return os.Truncate(path, 3) },
		"empty":      func(path string) error { return os.Truncate(path, 0) },
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path))
		},
	} {
		home := t.TempDir()
		if _, err := datadir.Token(home); err != nil {
			t.Fatal(err)
		}
		if err := plant(datadir.TokenPath(home)); err != nil {
			t.Fatal(err)
		}
		if token, err := datadir.Token(home); err == nil {
			t.Errorf("%s: taken, %q", name, token)
		}
	}
}

package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/sync/merkle"
)

// tokenBytes is how many random bytes a token is made of.
const tokenBytes = 32

// TokenPath is where the token of a data directory stands.
func TokenPath(home string) string { return filepath.Join(home, tokenName) }

// Token returns the token that clients of a data directory present over HTTP. The first
// call makes it, in a file that only this user may read; later calls, in any process, return
// the same. A file that others may read or have made is refused.
func Token(home string) (string, error) {
	if err := Ensure(home); err != nil {
		return "", Advise(home, err)
	}
	token, err := readToken(home)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeToken(home); err == nil || errors.Is(err, fs.ErrExist) { // another process made it
			token, err = readToken(home)
		}
	}
	return token, Advise(home, err)
}

// readToken reads the token file.
func readToken(home string) (string, error) {
	path := TokenPath(home)
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	refused := func(what string) error {
		return tool.Errorf(tool.CodePermissionDenied, "the token file %s %s", merkle.QuotePath(path), what).
			Next(advice.Command("rm "+tool.ShellWord(path), "removes it; the next start makes another, which `freshet install --http --write CLIENT` tells clients"))
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", refused("is not a regular file")
	case !ok || int(stat.Uid) != os.Geteuid():
		return "", refused("belongs to another user")
	case info.Mode().Perm()&0o077 != 0:
		return "", refused("may be read by others")
	}
	data := make([]byte, 4*tokenBytes)
	n, err := file.Read(data)
	token := strings.TrimSpace(string(data[:n]))
	if err != nil || len(token) < tokenBytes {
		return "", refused("holds no token")
	}
	return token, nil
}

// makeToken makes the token file, whole or not at all. It returns fs.ErrExist when there is
// one.
func makeToken(home string) error {
	file, err := os.CreateTemp(home, ProbePrefix) // with mode 0600
	if err != nil {
		return fmt.Errorf("make token: %w", err)
	}
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails
	_, err = file.WriteString(hex.EncodeToString(random) + "\n")
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Link(file.Name(), TokenPath(home))
	}
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return fmt.Errorf("make token: %w", err)
	}
	return nil
}

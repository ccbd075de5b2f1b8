package corpus

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Cache is a folder of fetched archives: KIND/NAME/VERSION/.
type Cache struct {
	Dir string
	// GOROOT is the Go distribution whose src is the source of kind Go.
	GOROOT string
}

// folder is where the archives of a source lie.
func (c *Cache) folder(s Source) string {
	return filepath.Join(c.Dir, s.Kind, strings.ReplaceAll(s.Name, "/", "+"), strings.ReplaceAll(s.Version, ":", "+"))
}

// archives returns the files to read of a fetched source, in order.
func (c *Cache) archives(s Source) ([]string, error) {
	if s.Kind == Go {
		return []string{filepath.Join(c.GOROOT, "src")}, nil
	}
	all, err := filepath.Glob(filepath.Join(c.folder(s), "*"))
	if err != nil {
		return nil, err
	}
	var archives []string
	for _, name := range all {
		base := filepath.Base(name)
		switch {
		case s.Kind == Debian && strings.Contains(base, ".tar.") && !strings.HasSuffix(base, ".asc"),
			s.Kind == NPM && strings.HasSuffix(base, ".tgz"), s.Kind == Module && strings.HasSuffix(base, ".zip"):
			archives = append(archives, name)
		}
	}
	slices.Sort(archives)
	if len(archives) == 0 {
		return nil, fmt.Errorf("%w: nothing fetched", ErrGone)
	}
	return archives, nil
}

// Fetch brings a source into the cache unless it is there, and checks it against its
// digest. Its error wraps ErrGone or ErrAltered when it is the source's.
func (c *Cache) Fetch(ctx context.Context, s Source) error {
	if _, err := c.archives(s); err != nil {
		if err := c.download(ctx, s); err != nil {
			return fmt.Errorf("fetch %s %s: %w", s, s.Version, err)
		}
	}
	digest, err := c.Digest(ctx, s)
	if err != nil {
		return fmt.Errorf("fetch %s %s: %w", s, s.Version, err)
	}
	if digest != s.Digest {
		return fmt.Errorf("fetch %s %s: %w: digest %s, want %s", s, s.Version, ErrAltered, digest, s.Digest)
	}
	return nil
}

// download runs the client of the source's ecosystem. A version of "" is the newest.
func (c *Cache) download(ctx context.Context, s Source) error {
	if s.Kind == Go {
		return nil
	}
	partial := c.folder(s) + ".part"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	var err error
	switch s.Kind {
	case Debian:
		_, err = output(ctx, partial, "apt-get", "source", "--download-only", "--tar-only", "-qq", s.Name+"="+s.Version)
	case NPM:
		_, err = output(ctx, partial, "npm", "pack", "--silent", s.Name+"@"+s.Version)
	case Module:
		err = c.downloadModule(ctx, s, partial)
	default:
		err = fmt.Errorf("unknown kind %q", s.Kind)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err := os.RemoveAll(c.folder(s)); err != nil {
		return err
	}
	return os.Rename(partial, c.folder(s))
}

// output runs a client in a folder and returns what it says on its standard output.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLine(complaint.String()))
	}
	return out, nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// fileSum is the sha256 of a file.
func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, bufio.NewReaderSize(f, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

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

// folder is where the archives of a source lie.
func (c *Cache) folder(s Source) string {
	return filepath.Join(c.Dir, s.Kind, strings.ReplaceAll(s.Name, "/", "+"), strings.ReplaceAll(s.Version, ":", "+"))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

package corpus

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Visit is what Walk does with a source's files: Wants chooses by path and size, File is
// given the bytes. Paths are relative to the source's own folder, with slashes.
type Visit struct {
	Wants func(name string, size int64) bool
	File  func(name string, data []byte) error
}

// Walk reads the files of a fetched source in the order of its archive.
func (c *Cache) Walk(ctx context.Context, s Source, v Visit) error {
	archives, err := c.archives(s)
	if err != nil {
		return fmt.Errorf("walk %s: %w", s, err)
	}
	if s.Kind == Go {
		err = walkFolder(archives[0], v)
	} else {
		for _, archive := range archives {
			if err = walkArchive(ctx, archive, strings.Count(s.Name, "/")+1, v); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("walk %s: %w", s, err)
	}
	return nil
}

func walkFolder(root string, v Visit) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil || !v.Wants(filepath.ToSlash(relative), info.Size()) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return v.File(filepath.ToSlash(relative), data)
	})
}

func walkArchive(ctx context.Context, archive string, prefix int, v Visit) error {
	if strings.HasSuffix(archive, ".zip") {
		return walkZip(archive, prefix, v)
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	var plain io.Reader
	switch path.Ext(archive) {
	case ".gz", ".tgz":
		plain, err = gzip.NewReader(f)
	case ".bz2":
		plain = bzip2.NewReader(f)
	case ".xz":
		return walkXZ(ctx, f, v)
	default:
		return fmt.Errorf("archive %s: unknown compression", path.Base(archive))
	}
	if err != nil {
		return err
	}
	return walkTar(plain, v)
}

// walkXZ decompresses by the xz program: the standard library has no reader for it.
func walkXZ(ctx context.Context, f *os.File, v Visit) error {
	cmd := exec.CommandContext(ctx, "xz", "-dc")
	cmd.Stdin = f
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = walkTar(out, v)
	if err == nil {
		_, err = io.Copy(io.Discard, out)
	} else if killErr := cmd.Process.Kill(); killErr != nil {
		err = errors.Join(err, killErr)
	}
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	return err
}

func walkTar(r io.Reader, v Visit) error {
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(path.Clean(header.Name), "/")
		if header.Typeflag != tar.TypeReg || name == "" || !v.Wants(name, header.Size) {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := v.File(name, data); err != nil {
			return err
		}
	}
}

// walkZip reads a module's archive, whose names begin with the module's path.
func walkZip(name string, prefix int, v Visit) error {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }() // it was only read
	for _, f := range archive.File {
		parts := strings.SplitN(f.Name, "/", prefix+1)
		relative := parts[len(parts)-1]
		if len(parts) <= prefix || relative == "" || !v.Wants(relative, int64(f.UncompressedSize64)) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
		if err := v.File(relative, data); err != nil {
			return err
		}
	}
	return nil
}

package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/freshet/freshet/mcp/tool"
)

// maxConfig bounds the configuration of a client.
const maxConfig = 64 << 20

// configPath is the file that a configuration stands in: a link stays a link. That of a
// project, "" for one of the user, is refused when a link leads out of the project: whoever
// wrote the project would choose which file is changed.
func configPath(path, project string) (string, error) {
	resolved, err := resolve(path)
	if err != nil {
		return "", tool.Errorf(tool.CodePermissionDenied, "the configuration %s cannot be followed: %w", tool.QuotePath(path), err)
	}
	if project == "" {
		return resolved, nil
	}
	if project, err = filepath.EvalSymlinks(project); err != nil {
		return "", tool.Errorf(tool.CodePathNotFound, "the project cannot be followed: %w", err)
	}
	if !strings.HasPrefix(resolved, strings.TrimSuffix(project, "/")+"/") {
		return "", tool.Errorf(tool.CodePathOutsideRoot, "%s is a link that leads out of the project, to %s, which is left as it is: "+
			"replace the link by a file, or add by hand what `freshet install` prints", tool.QuotePath(path), tool.QuotePath(resolved))
	}
	return resolved, nil
}

// resolve follows the links of a path as far as it exists. A link that leads nowhere is an
// error.
func resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return resolved, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a link that leads nowhere")
	}
	above := filepath.Dir(path)
	if above == path {
		return path, nil
	}
	resolved, err = resolve(above)
	return filepath.Join(resolved, filepath.Base(path)), err
}

// readConfig reads a configuration that is a regular file, without waiting for any other.
func readConfig(path string) (data []byte, existed bool, err error) {
	refused := func(why string) error {
		return tool.Errorf(tool.CodePermissionDenied, "the configuration %s %s and is left as it is: move it aside, or add by hand what `freshet install` prints",
			tool.QuotePath(path), why)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, tool.Errorf(tool.CodePermissionDenied, "read the configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, false, tool.Errorf(tool.CodePermissionDenied, "read the configuration: %w", err)
	case !info.Mode().IsRegular():
		return nil, false, refused("is not a regular file")
	case info.Size() > maxConfig:
		return nil, false, refused("is too large")
	}
	if data, err = io.ReadAll(io.LimitReader(file, maxConfig)); err != nil {
		return nil, false, tool.Errorf(tool.CodePermissionDenied, "read the configuration: %w", err)
	}
	return data, true, nil
}

// replaceFile writes a file whole or not at all, with the mode of another where that is. A
// private one is for its owner only.
func replaceFile(path string, data []byte, like string, private bool) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(like); err == nil {
		mode = info.Mode().Perm()
	}
	if private {
		mode &= 0o600
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".freshet-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

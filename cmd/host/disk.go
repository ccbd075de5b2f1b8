package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// disk reads files of registered roots. Paths are resolved below the root by os.Root, no
// symlink is followed in the last element, and nothing but a regular file is opened.
type disk struct{ *Host }

// maxLive bounds a file that is read live; the index holds none that is larger.
const maxLive = 1 << 20

var errNotRegular = errors.New("not a regular file")

// Compare says whether the file at path has the content now.
func (d disk) Compare(ctx context.Context, c store.Codebase, path string, content merkle.Hash) (tool.DiskState, error) {
	if !d.here(c) {
		answer, err := d.putSoon(ctx, c.ID, question{Ask: askCompare, Path: merkle.QuotePath(path), Content: content})
		if errors.Is(err, natsbus.ErrNoAnswer) {
			return tool.DiskUnseen, nil
		}
		return answer.State, err
	}
	data, err := readLive(c.Root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return tool.DiskGone, nil
	case errors.Is(err, errNotRegular), errors.Is(err, fs.ErrPermission), errors.Is(err, errTooLarge):
		return tool.DiskChanged, nil
	case err != nil:
		return tool.DiskChanged, fmt.Errorf("compare %s: %w", merkle.QuotePath(path), err)
	}
	if merkle.Hash(sha256.Sum256(data)) != content {
		return tool.DiskChanged, nil
	}
	return tool.DiskSame, nil
}

// Live reads a file now.
func (d disk) Live(ctx context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	if !d.here(c) {
		return d.remoteLive(ctx, c, path)
	}
	explanation, err := scan.New(c.Root, scan.Options{Log: d.opts.Log}).Explain(path)
	if err != nil {
		return tool.LiveFile{}, explainError(path, err)
	}
	file := tool.LiveFile{LeftOut: explanation.LeftOut}
	switch explanation.LeftOut {
	case store.LeftOutSecret, store.LeftOutSymlink, store.LeftOutSpecial, store.LeftOutTooLarge:
		return file, nil
	}
	data, err := readLive(c.Root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return file, tool.Errorf(tool.CodePathNotFound, "there is no file %s", merkle.QuotePath(path))
	case errors.Is(err, errNotRegular):
		return file, tool.Errorf(tool.CodePathNotFound, "%s is not a regular file", merkle.QuotePath(path))
	case errors.Is(err, fs.ErrPermission):
		return file, tool.Errorf(tool.CodePermissionDenied, "%s cannot be read", merkle.QuotePath(path))
	case errors.Is(err, errTooLarge):
		file.LeftOut = store.LeftOutTooLarge
		return file, nil
	case err != nil:
		return file, fmt.Errorf("read %s: %w", merkle.QuotePath(path), err)
	}
	file.Data, file.Hash = data, sha256.Sum256(data)
	file.Language, _ = scan.Classify(path, data)
	return file, nil
}

// remoteLive has a file read by who sees it.
func (d disk) remoteLive(ctx context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	answer, err := d.putSoon(ctx, c.ID, question{Ask: askLive, Path: merkle.QuotePath(path)})
	switch {
	case errors.Is(err, natsbus.ErrNoAnswer):
		return tool.LiveFile{}, tool.Errorf(tool.CodeStoreUnavailable, "the files of %s are on %s, which does not answer", c.Name, c.Place)
	case err != nil:
		return tool.LiveFile{}, err
	case answer.File == nil:
		return tool.LiveFile{}, fmt.Errorf("read %s on %s: no file in the answer", merkle.QuotePath(path), c.Place)
	}
	return *answer.File, nil
}

var errTooLarge = errors.New("file is too large")

func readLive(root, path string) (data []byte, err error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	info, err := dir.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := dir.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	data, err = io.ReadAll(io.LimitReader(file, maxLive+1))
	if err == nil && len(data) > maxLive {
		return nil, errTooLarge
	}
	return data, err
}

package scan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// DataMarker is the name of the file that marks a data directory. A directory with such a
// file is excluded from every tree with everything below it, also when the process that
// scans is not the one that uses it.
const DataMarker = ".freshet-data"

// ErrRootIsData refuses a root that is a data directory.
var ErrRootIsData = errors.New("the directory is a data directory of freshet (it holds " + DataMarker + "), which is never read")

// dataDetail is the detail of Explain for a data directory.
const dataDetail = "a data directory of freshet, which is never entered"

// marked reports whether an open directory holds the marker of data directories.
func marked(fd int) bool {
	stat, err := statAt(fd, DataMarker)
	return err == nil && kind(stat.Mode) == unix.S_IFREG
}

// ownData reports whether a directory is one of Options.Data.
func (s *Scanner) ownData(stat store.Stat) bool {
	return slices.Contains(s.opts.Data, store.RootIdentity{Device: stat.Device, Inode: stat.Inode})
}

// isData reports whether an open directory is a data directory.
func (s *Scanner) isData(fd int) bool {
	if len(s.opts.Data) > 0 {
		if stat, err := fstat(fd); err == nil && s.ownData(stat) {
			return true
		}
	}
	return marked(fd)
}

// enterRoot opens the scanner's root, which must not be a data directory.
func (s *Scanner) enterRoot() (int, store.Stat, error) {
	fd, stat, err := enterRoot(s.root)
	if err == nil && s.ownData(stat) {
		_ = unix.Close(fd)
		return -1, store.Stat{}, fmt.Errorf("%w: %s", ErrRootIsData, merkle.QuotePath(s.root))
	}
	return fd, stat, err
}

// leaveOutData excludes a data directory, and drops its prior entries.
func (v *visit) leaveOutData() {
	v.next.entry.LeftOut = store.LeftOutData
	v.dropBelow(v.prior)
}

// openOutsideData is openBeneath step by step; ok is false when a directory on the way is a
// data directory.
func (s *Scanner) openOutsideData(root int, path string) (fd int, ok bool, err error) {
	if fd, err = openBeneath(root, ""); err != nil {
		return -1, false, err
	}
	for rest, more := path, path != ""; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		next, err := openPiece(fd, name)
		_ = unix.Close(fd)
		if err != nil {
			return -1, false, err
		}
		if fd = next; s.isData(fd) {
			_ = unix.Close(fd)
			return -1, false, nil
		}
	}
	return fd, true, nil
}

// enterRoot opens the root and returns its stat.
func enterRoot(root string) (int, store.Stat, error) {
	fd, err := openRoot(root)
	switch {
	case err == nil:
	case gone(err):
		return -1, store.Stat{}, fmt.Errorf("%w: %s: %w", ErrRootVanished, merkle.QuotePath(root), err)
	default:
		return -1, store.Stat{}, fmt.Errorf("%w: %s: %w", ErrRootUnreadable, merkle.QuotePath(root), err)
	}
	stat, err := fstat(fd)
	if err != nil {
		_ = unix.Close(fd)
		return -1, store.Stat{}, fmt.Errorf("%w: %s: %w", ErrRootUnreadable, merkle.QuotePath(root), err)
	}
	if marked(fd) {
		_ = unix.Close(fd)
		return -1, store.Stat{}, fmt.Errorf("%w: %s", ErrRootIsData, merkle.QuotePath(root))
	}
	return fd, stat, nil
}

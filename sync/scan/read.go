package scan

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// ErrMoved says that directories on the way to a file were moved whenever it was read.
var ErrMoved = errors.New("path moves while it is read")

// moveTries is how often a path that moves is walked again.
const moveTries = 8

// Read returns a regular file as it is on disk now, with what Explain says of it. The bytes
// come from the descriptors that were judged: the root is the directory of Options.Identity,
// no link is followed on the way, and the directory of the file still lies at its path
// below the root after it was read. Binary, minified, ignored files and those of nested
// repositories are read all the same, and LeftOut says why they are not in the tree.
//
// A secret by name is refused before the disk is asked anything, so that a reader does not
// even learn whether there is one. The bytes are nil for secrets, files below data directories, links,
// special files, those over the limit and those that cannot be read. Errors are those of Explain,
// ErrRootReplaced and ErrMoved; a directory is ErrMissing.
func (s *Scanner) Read(path string) (Explanation, []byte, error) {
	clean, err := s.relative(path)
	if err != nil {
		return Explanation{}, nil, err
	}
	if secret.Named(clean) {
		x := explainer{out: Explanation{Path: clean}}
		x.secret()
		return x.out, nil, nil
	}
	for range moveTries {
		var out Explanation
		var data []byte
		if out, data, err = s.read(clean); !errors.Is(err, ErrMoved) {
			if err != nil {
				err = fmt.Errorf("read %s: %w", merkle.QuotePath(clean), err)
			}
			return out, data, err
		}
	}
	return Explanation{}, nil, fmt.Errorf("read %s: %w", merkle.QuotePath(clean), err)
}

func (s *Scanner) read(clean string) (Explanation, []byte, error) {
	x, err := s.enterExplained(clean)
	if err != nil {
		return Explanation{}, nil, err
	}
	defer x.close()
	x.reading = true
	if err := x.descend(clean); err != nil || x.out.LeftOut == store.LeftOutSymlink || x.out.LeftOut == store.LeftOutData {
		return x.out, nil, err
	}
	if err := s.interfere("read judged", clean); err != nil {
		return Explanation{}, nil, err
	}
	if err := x.entry(clean); err != nil {
		return Explanation{}, nil, err
	}
	if x.out.Dir {
		return Explanation{}, nil, ErrMissing
	}
	return x.out, x.data, x.stayed(clean)
}

// stayed returns ErrMoved when the directory that the explainer stands in does not lie at
// its path below the root any more: it may have been carried out of the tree.
func (x *explainer) stayed(path string) error {
	if x.dir == x.root {
		return nil
	}
	fd, err := openBeneath(x.root, parentOf(path))
	if err != nil {
		return ErrMoved
	}
	defer func() { _ = unix.Close(fd) }()
	now, err := fstat(fd)
	if err != nil {
		return err
	}
	then, err := fstat(x.dir)
	if err != nil {
		return err
	}
	if now.Inode != then.Inode || now.Device != then.Device {
		return ErrMoved
	}
	return nil
}

// Digest returns the SHA-256 of the regular file at a path, and the zero hash when what is
// there is anything else, a secret, below a data directory, over the limit, or not to be
// read. It judges nothing
// else and follows no link. It returns ErrMissing when nothing is there.
func (s *Scanner) Digest(path string) (merkle.Hash, error) {
	clean, err := s.relative(path)
	if err != nil || secret.Named(clean) {
		return merkle.Hash{}, err
	}
	root, stat, err := s.enterRoot()
	if err != nil {
		return merkle.Hash{}, err
	}
	defer func() { _ = unix.Close(root) }()
	if want := s.opts.Identity; want != (store.RootIdentity{}) && want != (store.RootIdentity{Device: stat.Device, Inode: stat.Inode}) {
		return merkle.Hash{}, fmt.Errorf("%w: %s", ErrRootReplaced, merkle.QuotePath(s.root))
	}
	dir, ok, err := s.openOutsideData(root, parentOf(clean))
	if err != nil {
		return digestFault(clean, err)
	}
	if !ok {
		return merkle.Hash{}, nil
	}
	defer func() { _ = unix.Close(dir) }()
	if stat, err = statAt(dir, baseOf(clean)); err != nil {
		return digestFault(clean, err)
	}
	if kind(stat.Mode) != unix.S_IFREG || stat.Size > s.opts.MaxFileBytes {
		return merkle.Hash{}, nil
	}
	data, err := readBounded(dir, baseOf(clean), s.opts.MaxFileBytes+1)
	if err != nil {
		return digestFault(clean, err)
	}
	if int64(len(data)) > s.opts.MaxFileBytes {
		return merkle.Hash{}, nil
	}
	return sha256.Sum256(data), nil
}

// digestFault separates what is gone and what may not be read from a failing disk.
func digestFault(path string, err error) (merkle.Hash, error) {
	switch {
	case gone(err):
		return merkle.Hash{}, fmt.Errorf("%w: %s", ErrMissing, merkle.QuotePath(path))
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return merkle.Hash{}, nil
	}
	return merkle.Hash{}, fmt.Errorf("read %s: %w", merkle.QuotePath(path), err)
}

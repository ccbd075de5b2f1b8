package scan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

// statOf turns what the kernel says into the words of the store.
func statOf(st *unix.Stat_t) store.Stat {
	return store.Stat{
		Size: st.Size, MtimeNs: st.Mtim.Nano(), CtimeNs: st.Ctim.Nano(),
		Device: st.Dev, Inode: st.Ino, Mode: st.Mode,
	}
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func fstat(fd int) (store.Stat, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(fd, &st) })
	return statOf(&st), err
}

// statAt asks for the stat of a name in a directory without following a link.
func statAt(dir int, name string) (store.Stat, error) {
	stat, _, err := statLinks(dir, name)
	return stat, err
}

// statLinks is statAt with the number of names that the file has anywhere.
func statLinks(dir int, name string) (store.Stat, uint64, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err != unix.EINTR { //nolint:errorlint // a bare Errno, in the hottest loop
			return statOf(&st), uint64(st.Nlink), err //nolint:unconvert // uint32 on some
		}
	}
}

const (
	dirFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fileFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	// pathPiece is how many bytes of a path one call is given; PATH_MAX is 4,096.
	pathPiece = 3_500
)

func openAt(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(dir, name, flags, 0)
		return err
	})
	return fd, err
}

// openRoot opens the directory of a tree.
func openRoot(path string) (int, error) {
	return openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW)
}

// openBeneath opens a directory below root. No component may be a link, so that it cannot
// lead out of the tree, and the path may be of any length.
func openBeneath(root int, path string) (int, error) {
	if path == "" {
		return openAt(root, ".", dirFlags)
	}
	at := root
	for path != "" {
		piece := path
		if len(piece) > pathPiece {
			piece = piece[:strings.LastIndexByte(piece[:pathPiece], '/')]
		}
		path = strings.TrimPrefix(path[len(piece):], "/")
		fd, err := openPiece(at, piece)
		if at != root {
			_ = unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = fd
	}
	return at, nil
}

// openPiece opens a short path in one call, or where the kernel cannot do that safely,
// component by component.
func openPiece(at int, path string) (fd int, err error) {
	how := unix.OpenHow{Flags: dirFlags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	err = retry(func() error {
		fd, err = unix.Openat2(at, path, &how)
		return err
	})
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EAGAIN):
		return openStepwise(at, path)
	}
	return -1, err
}

func openStepwise(at int, path string) (int, error) {
	dir := at
	for nested := true; nested; {
		var name string
		name, path, nested = strings.Cut(path, "/")
		fd, err := openAt(dir, name, dirFlags)
		if dir != at {
			_ = unix.Close(dir)
		}
		if err != nil {
			return -1, err
		}
		dir = fd
	}
	return dir, nil
}

// dirent is a name in a directory. The mode holds the type only, 0 when it is not told.
type dirent struct {
	name string
	mode uint32
}

// list reads the names of a directory through a buffer of the caller's.
func list(fd int, buf []byte) ([]dirent, error) {
	var names []dirent
	for {
		var n int
		err := retry(func() (err error) {
			n, err = unix.ReadDirent(fd, buf)
			return err
		})
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return names, nil
		}
		for rest := buf[:n]; len(rest) > 19; {
			length := binary.NativeEndian.Uint16(rest[16:])
			name := rest[19:length]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if s := string(name); s != "." && s != ".." {
				names = append(names, dirent{s, uint32(rest[18]) << 12}) // DT_x is S_IFx >> 12
			}
			rest = rest[length:]
		}
	}
}

func kind(mode uint32) uint32 { return mode & unix.S_IFMT }

// gone reports an error that says the path is not there, or not a path any more.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

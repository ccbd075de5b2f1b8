package scan

import (
	"errors"
	"log/slog"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Errors of a scan whose root is not what it was. The index stays as it is: files that
// cannot be reached were not deleted.
var (
	ErrRootVanished   = errors.New("root directory is gone")
	ErrRootReplaced   = errors.New("another directory stands at the root")
	ErrRootEmptied    = errors.New("root directory is empty and was not")
	ErrRootUnreadable = errors.New("root directory cannot be read")
)

// Options configure a Scanner. The zero value works.
type Options struct {
	// Workers is how many directories are read at once; 0 means 8 for a tree never seen,
	// whose files must be read, and otherwise one for each processor, from 2 to 8.
	Workers int
	// MaxFileBytes is the size over which a file is left out; 0 means 1 MiB.
	MaxFileBytes int64
	// Granularity is how far apart two writes must be for their times to differ; 0 means
	// 10 ms.
	Granularity time.Duration
	// Identity is the directory that must stand at the root; the zero one is any.
	Identity store.RootIdentity
	// Data are data directories, left out wherever and under whatever names they lie in the
	// tree. Those with a DataMarker are left out without being named here.
	Data []store.RootIdentity
	// AcceptEmpty takes a root without entries for an empty tree, where it is otherwise
	// ErrRootEmptied.
	AcceptEmpty bool
	// Stamp replaces the times that the file system gives, in nanoseconds, to stand in for
	// a coarse one; nil keeps them.
	Stamp func(ns int64) int64
	// Fault stands in for a failing disk and for writers at awkward moments: it is asked
	// before each step (stat, open, read, list, ...) on a path. nil is a disk without faults.
	Fault func(op, path string) error
	Now   func() time.Time // nil means the clock of the kernel's file times
	Log   *slog.Logger     // nil means discard
}

// DefaultMaxFileBytes is the size over which files are left out unless told otherwise.
const DefaultMaxFileBytes = 1 << 20

// defaultGranularity is the longest tick of a Linux kernel (HZ=100).
const defaultGranularity = 10 * time.Millisecond

// Sink takes the contents that a scan reads and that the index did not have at their path.
type Sink interface {
	// Content is called from several goroutines. The bytes are the sink's to keep. An error
	// ends the scan.
	Content(path string, hash merkle.Hash, data []byte) error
}

// Scanner scans one root. It holds nothing between scans and may be used from several
// goroutines.
type Scanner struct {
	root string
	opts Options
	// fault stands in for a failing disk and for writers at awkward moments in tests.
	fault func(op, path string) error
}

// New returns a scanner of the directory root, an absolute path.
func New(root string, opts Options) *Scanner {
	if opts.MaxFileBytes <= 0 {
		opts.MaxFileBytes = DefaultMaxFileBytes
	}
	if opts.Granularity <= 0 {
		opts.Granularity = defaultGranularity
	}
	if opts.Now == nil {
		opts.Now = fileClock
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Scanner{root: root, opts: opts, fault: opts.Fault}
}

func (s *Scanner) workers(prior *Index) int {
	switch {
	case s.opts.Workers > 0:
		return s.opts.Workers
	case prior == nil || prior.root == nil:
		return 8
	}
	return min(max(runtime.GOMAXPROCS(0), 2), 8)
}

// Identity returns the device and inode of the directory at root. It returns
// ErrRootVanished or ErrRootUnreadable when there is none to be read, and ErrRootIsData for
// a data directory.
func Identity(root string) (store.RootIdentity, error) {
	fd, stat, err := enterRoot(root)
	if err != nil {
		return store.RootIdentity{}, err
	}
	_ = unix.Close(fd)
	return store.RootIdentity{Device: stat.Device, Inode: stat.Inode}, nil
}

package sqlitestore

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/freshet/freshet/store"
)

// repairAdvice is what to do about a damaged store, whether or not it opens.
const repairAdvice = "run `freshet verify --repair`"

// fault gives an error of the driver or the file system the meaning that callers branch
// on. It returns any other error, and nil, as it is.
func (s *Store) fault(err error) error {
	if err == nil || errors.Is(err, store.ErrDiskFull) || errors.Is(err, store.ErrClosed) {
		return err
	}
	if errors.Is(err, store.ErrCorrupt) {
		if strings.Contains(err.Error(), repairAdvice) {
			return err
		}
		return fmt.Errorf("%s: %w; %s", s.file(), err, repairAdvice)
	}
	if strings.Contains(err.Error(), "sql: Scan error") { // a column of ours holds what we never write
		return fmt.Errorf("%s: %w: %w; %s", s.file(), store.ErrCorrupt, err, repairAdvice)
	}
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ { // a file is shorter than another says
		return fmt.Errorf("%s: %w: %w; %s", s.file(), store.ErrCorrupt, err, repairAdvice)
	}
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%s: %w: %w; %s", s.file(), store.ErrCorrupt, err, repairAdvice)
		case sqlite3.SQLITE_ERROR:
			// The statements are ours and the version of the schema is checked: what they
			// name was there.
			if strings.Contains(e.Error(), "no such ") {
				return fmt.Errorf("%s: schema: %w: %w; %s", s.file(), store.ErrCorrupt, err, repairAdvice)
			}
		case sqlite3.SQLITE_FULL:
			return fmt.Errorf("%s: %w: %w", s.file(), store.ErrDiskFull, err)
		case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
			if s.full() {
				return fmt.Errorf("%s: %w: %w", s.file(), store.ErrDiskFull, err)
			}
		}
	}
	switch {
	case noRoom(err):
		return fmt.Errorf("%s: %w: %w", s.dir, store.ErrDiskFull, err)
	case s.closed.Load() && (errors.Is(err, sql.ErrConnDone) || strings.Contains(err.Error(), "database is closed")):
		return store.ErrClosed
	}
	return err
}

// full reports whether the file system, a quota or a limit refuses to let the store grow.
// SQLite calls most of these plain I/O errors, so it is tried with a file of our own.
func (s *Store) full() bool {
	f, err := os.CreateTemp(s.dir, "probe-*")
	if err != nil {
		return noRoom(err)
	}
	_, err = f.WriteAt(make([]byte, probeSize), s.largest())
	err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	return noRoom(err)
}

// probeSize is about what the smallest write needs.
const probeSize = 64 << 10

// largest is the size of the database or of its log.
func (s *Store) largest() (size int64) {
	for _, name := range []string{s.file(), s.file() + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size = max(size, info.Size())
		}
	}
	return size
}

func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func (s *Store) file() string { return filepath.Join(s.dir, fileName) }

package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver

	"github.com/freshet/freshet/migrations"
	"github.com/freshet/freshet/store"
)

// The names of what lies in the directory, beside the files of SQLite's log.
const (
	fileName   = "freshet.db"
	segmentDir = "segments"
)

// Parameters of the writing and of the reading connections. cell_size_check finds some
// damage early; secure_delete keeps nothing of a row that is gone.
const (
	writerParameters = "_journal_mode=WAL&_pragma=synchronous(FULL)&_pragma=cache_size(-32768)" +
		"&_pragma=wal_autocheckpoint(2048)&_pragma=journal_size_limit(67108864)&"
	readerParameters = "_query_only=1&_pragma=cache_size(-8192)&"
	allParameters    = "_busy_timeout=10000&_pragma=temp_store(MEMORY)&_pragma=cell_size_check(1)&_pragma=secure_delete(FAST)&_pragma=trusted_schema(0)" +
		"&_txlock=immediate&_dqs=0"
)

// busyTimeout is the _busy_timeout of the connections.
const busyTimeout = 10 * time.Second

// creation are the pragmas that hold for ever once something was written, in the order
// they need: auto_vacuum writes the first page.
const creation = "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL"

// Open opens the store in dir, which is made with mode 0700 when it does not exist, and
// applies the migrations it lacks. The caller holds the directory's lock. It returns
// store.ErrNewerSchema, store.ErrMigrationModified or store.ErrCorrupt and then leaves
// everything as it was.
func Open(ctx context.Context, dir string, opts Options) (*Store, error) {
	set, err := migrations.SQLite(moveVersion2())
	if err != nil {
		return nil, err
	}
	return open(ctx, dir, set, opts)
}

func open(ctx context.Context, dir string, set *migrations.Set, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: dir, now: opts.Now, log: opts.Log, schema: set.Newest(), turn: make(chan struct{}, 1)}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, s.fault(err))
	}
	if err := s.connect(ctx, set); err != nil {
		err = fmt.Errorf("open store %s: %w", dir, s.fault(err))
		return nil, errors.Join(err, s.abort())
	}
	if err := s.present(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, errors.Join(err, s.abort()))
	}
	s.codec = newCodec()
	s.mapped.open = map[store.SegmentID]*mapping{}
	s.mapped.verified = map[store.SegmentID]unix.Stat_t{}
	s.turn <- struct{}{}
	return s, nil
}

// prepare makes the directory and an empty database file, with modes that keep others
// out, and looks at the header of a file that is there.
func (s *Store) prepare(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(s.dir, segmentDir), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.file(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := firstError(err, f.Close()); err != nil {
		return err
	}
	if info.Size() == 0 {
		return s.create(ctx)
	}
	return s.checkHeader()
}

// create gives an empty database the properties that cannot be changed later. Segments
// beside it say that it was not always empty.
func (s *Store) create(ctx context.Context) error {
	if err := s.examineEmpty(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", s.dsn(""))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, creation)
	return firstError(err, db.Close())
}

func (s *Store) connect(ctx context.Context, set *migrations.Set) error {
	var err error
	if s.writers, err = sql.Open("sqlite", s.dsn(writerParameters)); err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", s.dsn(readerParameters)); err != nil {
		return err
	}
	if err := s.migrate(ctx, set); err != nil {
		return err
	}
	conn, err := s.writers.Conn(ctx)
	if err != nil {
		return err
	}
	s.writer = newSession(conn)
	if err := s.writer.checkSchema(s.schema); err != nil {
		return err
	}
	if err := s.loadEpoch(); err != nil {
		return err
	}
	return s.sweepSegments(s.writer, true)
}

// migrate applies the migrations that the database lacks, and moves what they made to the
// pages that they freed: the file gets no longer, and what is small and dear, such as the
// registrations, does not lie at its end.
func (s *Store) migrate(ctx context.Context, set *migrations.Set) error {
	version, err := set.State(ctx, s.writers)
	if err != nil {
		return err
	}
	if err := set.Apply(ctx, s.writers); err != nil {
		return err
	}
	if version == set.Newest() {
		return nil
	}
	_, err = s.writers.ExecContext(ctx, "PRAGMA incremental_vacuum")
	return err
}

func (s *Store) loadEpoch() error {
	epoch, _, err := s.writer.header()
	if err != nil || epoch != "" {
		s.epoch = epoch
		return err
	}
	s.epoch = rand.Text()
	return s.transaction(func(c *session) error { return c.putHeader(s.epoch, store.LogPosition{}) })
}

// abort closes what a failed Open has opened.
func (s *Store) abort() error {
	if s.writer != nil {
		s.writer.close()
	}
	var errs []error
	for _, db := range []*sql.DB{s.writers, s.db} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

var _ store.Store = (*Store)(nil)

// Options are what a Store may be given. The zero value works.
type Options struct {
	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil means discard
}

// Store is a store.Store in a directory. It may be used from several goroutines.
type Store struct {
	dir    string
	now    func() time.Time
	log    *slog.Logger
	epoch  string
	schema int64                  // version of the schema that this binary writes
	opened map[string]os.FileInfo // the database and its log

	db      *sql.DB // reading connections
	writers *sql.DB // the one writing connection
	closed  atomic.Bool
	rows    atomic.Int64 // rows written

	turn   chan struct{} // holds one token: who has it may use writer
	writer *session

	idle    idleSessions
	codec   codec
	frames  frameCache
	deltas  deltaTables
	mapped  mappedSegments
	closing sync.Once
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// Epoch is a random word made with the store.
func (s *Store) Epoch() string { return s.epoch }

// RowsWritten counts the rows inserted, changed and deleted since the store was opened.
func (s *Store) RowsWritten() int64 { return s.rows.Load() }

// Close waits for the write in hand, moves the write-ahead log into the database and
// releases the files. Reads in hand fail or finish.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		<-s.turn
		s.closed.Store(true)
		s.idle.close()
		_, cerr := s.writer.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
		s.writer.close()
		err = firstError(s.db.Close(), s.writers.Close(), cerr)
		s.codec.close()
		s.turn <- struct{}{}
	})
	if err != nil {
		return fmt.Errorf("close store: %w", s.fault(err))
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// view calls fn with a connection that sees one consistent state.
func (s *Store) view(ctx context.Context, fn func(c *session) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	c, err := s.idle.take(s.db)
	if err != nil {
		return s.fault(err)
	}
	defer s.idle.give(c)
	if err := c.exec("BEGIN"); err != nil {
		return s.fault(err)
	}
	err = fn(c)
	c.broken = c.exec("ROLLBACK") != nil
	return s.fault(err)
}

// write calls fn in a durable transaction: all of it is committed, or nothing.
func (s *Store) write(ctx context.Context, fn func(c *session) error) error {
	return s.writeThen(ctx, fn, nil)
}

// writeThen is write with a last step that runs after the commit, while no other write
// can begin.
func (s *Store) writeThen(ctx context.Context, fn func(c *session) error, then func(c *session)) error {
	return s.alone(ctx, func(c *session) error {
		err := s.transaction(func(c *session) error {
			if err := rules.CheckFence(ctx, c.lease); err != nil {
				return err
			}
			return fn(c)
		})
		if err == nil && then != nil {
			then(c)
		}
		return err
	})
}

// alone calls fn with the writing connection outside a transaction, while no other write
// can begin.
func (s *Store) alone(ctx context.Context, fn func(c *session) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.fault(fn(s.writer))
}

func (s *Store) transaction(fn func(c *session) error) (err error) {
	c := s.writer
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			err = firstError(err, c.exec("ROLLBACK"))
		}
	}()
	if err := c.checkSchema(s.schema); err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	if err := c.exec("COMMIT"); err != nil {
		return err
	}
	done = true
	var changes int64
	if _, err := c.one("SELECT total_changes()", nil, &changes); err == nil {
		s.rows.Store(changes)
	}
	return nil
}

// checkSchema compares the version that the last migration left in the database's header.
// It is asked at Open, and by each transaction for a migration by another process.
func (c *session) checkSchema(known int64) error {
	var version int64
	if _, err := c.one("PRAGMA user_version", nil, &version); err != nil {
		return err
	}
	switch {
	case version > known:
		return fmt.Errorf("schema version %d, this binary knows %d: %w", version, known, store.ErrNewerSchema)
	case version < known:
		return fmt.Errorf("schema version %d in the header of a database of version %d: %w", version, known, store.ErrCorrupt)
	}
	return nil
}

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// errReading says that a reader keeps the write-ahead log from being emptied.
var errReading = errors.New("a read that goes on holds the write-ahead log; what was deleted stays in it until `freshet gc` runs after that read")

// Bounds of a scrub: how often it tries to empty the log while reads go on, and how long
// each try waits for them.
const (
	scrubTries = 40
	scrubWait  = 250 * time.Millisecond
)

// Scrub takes what was deleted out of the files: it gives every free page back to the file
// system and empties the write-ahead log. Rows that are gone were overwritten in their
// pages before (secure_delete). Other writes come in between its steps.
func (s *Store) Scrub(ctx context.Context) error {
	for free := int64(1); free > 0; {
		before := free
		err := s.alone(ctx, func(c *session) error {
			if err := c.exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages)); err != nil {
				return err
			}
			_, err := c.one("PRAGMA freelist_count", nil, &free)
			return err
		})
		if err != nil {
			return fmt.Errorf("give free pages back: %w", err)
		}
		if before > 1 && free >= before { // others delete as fast
			break
		}
	}
	for range scrubTries {
		emptied := false
		err := s.alone(ctx, func(c *session) (err error) {
			emptied, err = c.emptyLog()
			return err
		})
		if err != nil {
			return fmt.Errorf("empty the write-ahead log: %w", err)
		}
		if emptied {
			return nil
		}
	}
	return fmt.Errorf("empty the write-ahead log: %w", errReading)
}

// emptyLog moves the write-ahead log into the database and truncates it. It reports false
// when reads keep it from that.
func (c *session) emptyLog() (emptied bool, err error) {
	ctx := context.Background() // as all statements of a session
	if _, err := c.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", scrubWait.Milliseconds())); err != nil {
		return false, err
	}
	defer func() {
		_, restored := c.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()))
		err = firstError(err, restored)
	}()
	var busy, frames, moved sql.NullInt64
	err = c.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	return err == nil && busy.Int64 == 0, err
}

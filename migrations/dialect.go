package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// dialect is what differs between the databases.
type dialect struct {
	goose database.Dialect
	// hasLedger counts the tables of checksums: none or one.
	hasLedger string
	// numbered is set when placeholders are $1 instead of ?.
	numbered bool
	options  []goose.ProviderOption
}

func sqliteDialect() dialect {
	return dialect{
		goose:     database.DialectSQLite3,
		hasLedger: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_checksums'",
	}
}

func postgresDialect() dialect {
	return dialect{
		goose:     database.DialectPostgres,
		hasLedger: "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_checksums'",
		numbered:  true,
		options:   []goose.ProviderOption{goose.WithSessionLocker(advisoryLock{})},
	}
}

// query writes a statement with the placeholders of the dialect.
func (d dialect) query(text string) string {
	if !d.numbered {
		return text
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(text, "?") {
		if n > 0 {
			fmt.Fprintf(&b, "$%d", n)
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// PostgresLock is an SQL expression for the key of the advisory lock that a migration of
// the current schema holds: who shares it keeps migrations out.
const PostgresLock = "hashtextextended('freshet schema ' || current_schema(), 0)"

// Who waits for the lock alone has all who come to share it wait behind: so it waits for
// lockWait at most, and lets them pass for a pause that grows with every try.
const (
	lockWait      = 300 * time.Millisecond
	shortestPause = 50 * time.Millisecond
	longestPause  = 2 * time.Second

	stateNoLock = "55P03"
)

// Alone calls fn with a connection that holds PostgresLock alone. It waits for those who
// share it for as long as they take, and holds up others that come to share it for a
// fraction of a second at a time.
func Alone(ctx context.Context, db *sql.DB, fn func(conn *sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := (advisoryLock{}).SessionLock(ctx, conn); err != nil {
		return err
	}
	return errors.Join(fn(conn), advisoryLock{}.SessionUnlock(context.WithoutCancel(ctx), conn))
}

// advisoryLock lets one process at a time migrate a schema of PostgreSQL. The server
// releases it with the connection of a process that was killed.
type advisoryLock struct{}

// SessionLock waits for the lock.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET lock_timeout = %d", lockWait.Milliseconds())); err != nil {
		return fmt.Errorf("bound the wait for other migrations: %w", err)
	}
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock("+PostgresLock+")")
		if err == nil {
			break
		}
		if state := interface{ SQLState() string }(nil); !errors.As(err, &state) || state.SQLState() != stateNoLock {
			return fmt.Errorf("wait for other migrations: %w", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("wait for other migrations: %w", ctx.Err())
		}
	}
	if _, err := conn.ExecContext(ctx, "RESET lock_timeout"); err != nil {
		return fmt.Errorf("let migrations wait for what they need: %w", err)
	}
	return nil
}

// SessionUnlock releases the lock.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock("+PostgresLock+")"); err != nil {
		return fmt.Errorf("release the lock of migrations: %w", err)
	}
	return nil
}

package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// staging are the tables of a connection to which COPY writes what a transaction then
// merges: COPY itself knows no conflicts. They are empty at the begin of every transaction.
const staging = `
CREATE TEMPORARY TABLE IF NOT EXISTS stage_contents (hash bytea, size bigint, body bytea) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS stage_syntaxes (content bytea, version bigint, texts bytea[], body bytea) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS stage_vectors (text bytea, body bytea) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS stage_files
	(path bytea, content bytea, size bigint, language bytea, flags smallint, renamed bytea) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS stage_stats (path bytea, dir boolean, size bigint, mtime bigint, ctime bigint,
	device bigint, inode bigint, mode bigint, racy boolean, xx bigint, content bytea, language bytea, flags smallint,
	left_out bytea) ON COMMIT DELETE ROWS;`

// session is a connection in a transaction of the store. It is used by one goroutine.
// The first argument of every statement is the tenant.
type session struct {
	conn    *pgx.Conn
	tenant  string
	written int64
}

func (c *session) args(args []any) []any { return append([]any{c.tenant}, args...) }

// exec runs a statement and returns how many rows it changed.
func (c *session) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.conn.Exec(ctx, query, c.args(args)...)
	if err != nil {
		return 0, err
	}
	if !tag.Select() {
		c.written += tag.RowsAffected()
	}
	return tag.RowsAffected(), nil
}

// one scans the first row into dest and reports whether there was one.
func (c *session) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	found := false
	err := c.each(ctx, query, args, func(rows pgx.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}

// each calls fn for every row. It may not use the session.
func (c *session) each(ctx context.Context, query string, args []any, fn func(rows pgx.Rows) error) error {
	rows, err := c.conn.Query(ctx, query, c.args(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// stage copies n rows to a table of staging.
func (c *session) stage(ctx context.Context, table string, columns []string, n int, row func(i int) ([]any, error)) error {
	if n == 0 {
		return nil
	}
	if _, err := c.conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(n, row)); err != nil {
		return fmt.Errorf("copy to %s: %w", table, err)
	}
	return nil
}

// chunkSize is the most keys of one look-up.
const chunkSize = 16 << 10

package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The tables of a connection to which COPY writes what a transaction then merges: COPY
// itself knows no conflicts. They are made when first needed and empty at the begin of
// every transaction.
const (
	stageContents = "stage_contents (hash bytea, size bigint, body bytea)"
	stageSyntaxes = "stage_syntaxes (content bytea, version bigint, texts bytea[], body bytea)"
	stageVectors  = "stage_vectors (text bytea, body bytea)"
	stageFiles    = "stage_files (path bytea, content bytea, size bigint, language bytea, flags smallint, renamed bytea)"
	stageStats    = "stage_stats (path bytea, dir boolean, size bigint, mtime bigint, ctime bigint, device bigint, inode bigint, " +
		"mode bigint, racy boolean, xx bigint, content bytea, language bytea, flags smallint, left_out bytea)"
)

// tx is a connection in a transaction of the store. It is used by one goroutine.
// The first argument of every statement is the tenant.
type tx struct {
	conn    *pgx.Conn
	tenant  string
	written int64
}

func (c *tx) args(args []any) []any { return append([]any{c.tenant}, args...) }

// exec runs a statement and returns how many rows it changed.
func (c *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.conn.Exec(ctx, query, c.args(args)...)
	if err != nil {
		return 0, err
	}
	if !tag.Select() {
		c.written += tag.RowsAffected()
	}
	return tag.RowsAffected(), nil
}

// all runs statements that take the same arguments.
func (c *tx) all(ctx context.Context, statements []string, args ...any) error {
	for _, statement := range statements {
		if _, err := c.exec(ctx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// one scans the first row into dest and reports whether there was one.
func (c *tx) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
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

// each calls fn for every row. It must not use the connection.
func (c *tx) each(ctx context.Context, query string, args []any, fn func(rows pgx.Rows) error) error {
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

// stage copies n rows, which have a value for every column, to a table.
func (c *tx) stage(ctx context.Context, table string, n int, row func(i int) ([]any, error)) error {
	if _, err := c.conn.Exec(ctx, "CREATE TEMPORARY TABLE IF NOT EXISTS "+table+" ON COMMIT DELETE ROWS"); err != nil {
		return fmt.Errorf("make temporary table: %w", err)
	}
	if n == 0 {
		return nil
	}
	name, columns, _ := strings.Cut(strings.TrimSuffix(table, ")"), " (")
	var names []string
	for column := range strings.SplitSeq(columns, ", ") {
		column, _, _ = strings.Cut(column, " ")
		names = append(names, column)
	}
	if _, err := c.conn.CopyFrom(ctx, pgx.Identifier{name}, names, pgx.CopyFromSlice(n, row)); err != nil {
		return fmt.Errorf("copy to %s: %w", name, err)
	}
	return nil
}

// chunkSize is the most keys of one look-up.
const chunkSize = 16 << 10

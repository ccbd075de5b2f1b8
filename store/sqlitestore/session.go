package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// session is a connection with the statements prepared on it so far. It is used by one
// goroutine at a time. Statements run without a context, because the driver starts a
// goroutine for each one that has a deadline or can be cancelled; callers look at their
// context between statements.
type session struct {
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	broken bool
}

func newSession(conn *sql.Conn) *session {
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}
}

func (c *session) close() {
	for _, stmt := range c.stmts {
		_ = stmt.Close() // a session that is given up was read from, or has failed already
	}
	_ = c.conn.Close()
}

func (c *session) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := c.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.40q: %w", query, err)
	}
	c.stmts[query] = stmt
	return stmt, nil
}

func (c *session) exec(query string, args ...any) error {
	_, err := c.change(query, args...)
	return err
}

func (c *session) change(query string, args ...any) (sql.Result, error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // kept for the session, which closes it
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(context.Background(), args...)
}

// one scans the first row into dest and reports whether there was one.
func (c *session) one(query string, args []any, dest ...any) (bool, error) {
	found := false
	err := c.each(query, args, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}

// each calls fn for every row.
func (c *session) each(query string, args []any, fn func(rows *sql.Rows) error) (err error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // kept for the session, which closes it
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// maxIdle is how many reading connections are kept when nobody reads.
const maxIdle = 8

// idleSessions are reading connections that wait for the next read.
type idleSessions struct {
	mu     sync.Mutex // guards what follows
	all    []*session
	closed bool
}

func (p *idleSessions) take(db *sql.DB) (*session, error) {
	p.mu.Lock()
	if n := len(p.all); n > 0 {
		c := p.all[n-1]
		p.all = p.all[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	return newSession(conn), nil
}

func (p *idleSessions) give(c *session) {
	p.mu.Lock()
	keep := !p.closed && !c.broken && len(p.all) < maxIdle
	if keep {
		p.all = append(p.all, c)
	}
	p.mu.Unlock()
	if !keep {
		c.close()
	}
}

func (p *idleSessions) close() {
	p.mu.Lock()
	all := p.all
	p.all, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}

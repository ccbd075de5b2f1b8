package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
)

// Session returns a session whose time has not passed.
func (s *Store) Session(ctx context.Context, id string) (found store.Session, err error) {
	err = s.view(ctx, func(c *session) error {
		var until int64
		var body []byte
		ok, err := c.one("SELECT until, body FROM sessions WHERE id = ? AND until > ?", []any{id, s.now().UnixNano()}, &until, &body)
		if err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		if !ok {
			return fmt.Errorf("session %s: %w", id, store.ErrNotFound)
		}
		value, err := checksum.Cut(body, "sessions", []byte(id), number(until))
		found = store.Session{ID: id, Until: time.Unix(0, until).UTC(), Body: value}
		return err
	})
	if err != nil {
		return store.Session{}, err
	}
	return found, nil
}

// PutSession keeps a session and drops those whose time has passed.
func (s *Store) PutSession(ctx context.Context, kept store.Session) error {
	return s.write(ctx, func(c *session) error {
		if err := c.exec("DELETE FROM sessions WHERE until <= ?", s.now().UnixNano()); err != nil {
			return fmt.Errorf("drop sessions that ended: %w", err)
		}
		until := kept.Until.UnixNano()
		body := checksum.Append(append([]byte{}, kept.Body...), "sessions", []byte(kept.ID), number(until))
		err := c.exec("INSERT INTO sessions (id, until, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until, body = excluded.body",
			kept.ID, until, body)
		if err != nil {
			return fmt.Errorf("put session %s: %w", kept.ID, err)
		}
		return nil
	})
}

// checkSessions verifies the checksum of every session.
func (c *session) checkSessions() error {
	return c.each("SELECT id, until, body FROM sessions", nil, func(rows *sql.Rows) error {
		var id string
		var until int64
		var body []byte
		if err := rows.Scan(&id, &until, &body); err != nil {
			return err
		}
		_, err := checksum.Cut(body, "sessions", []byte(id), number(until))
		return err
	})
}

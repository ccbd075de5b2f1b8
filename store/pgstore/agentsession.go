package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
)

// Session returns a session whose time has not passed.
func (s *Store) Session(ctx context.Context, id string) (found store.Session, err error) {
	err = s.view(ctx, func(c *tx) error {
		var until int64
		var body []byte
		ok, err := c.one(ctx, "SELECT until, body FROM sessions WHERE tenant = $1 AND id = $2 AND until > $3",
			[]any{blob(id), s.now().UnixNano()}, &until, &body)
		if err == nil && !ok {
			err = store.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		found = store.Session{ID: id, Until: time.Unix(0, until).UTC(), Body: body}
		return nil
	})
	return found, err
}

// PutSession keeps a session and drops those whose time has passed.
func (s *Store) PutSession(ctx context.Context, kept store.Session) error {
	return s.write(ctx, func(c *tx) error {
		if _, err := c.exec(ctx, "DELETE FROM sessions WHERE tenant = $1 AND until <= $2", s.now().UnixNano()); err != nil {
			return fmt.Errorf("drop sessions that ended: %w", err)
		}
		_, err := c.exec(ctx, `INSERT INTO sessions (tenant, id, until, body) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant, id) DO UPDATE SET until = excluded.until, body = excluded.body`,
			blob(kept.ID), kept.Until.UnixNano(), append([]byte{}, kept.Body...))
		if err != nil {
			return fmt.Errorf("put session %s: %w", kept.ID, err)
		}
		return nil
	})
}

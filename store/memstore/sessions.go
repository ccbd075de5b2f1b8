package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Session returns a session whose time has not passed.
func (s *Store) Session(ctx context.Context, id string) (found store.Session, err error) {
	err = s.read(ctx, func() error {
		kept, ok := s.sessions[id]
		if !ok || !kept.Until.After(s.now()) {
			return fmt.Errorf("session %s: %w", id, store.ErrNotFound)
		}
		found = kept
		found.Body = bytes.Clone(kept.Body)
		return nil
	})
	return found, err
}

// PutSession keeps a session and drops those whose time has passed.
func (s *Store) PutSession(ctx context.Context, session store.Session) error {
	return s.write(ctx, func() error {
		now := s.now()
		maps.DeleteFunc(s.sessions, func(_ string, kept store.Session) bool { return !kept.Until.After(now) })
		session.Until, session.Body = rules.Instant(session.Until), bytes.Clone(session.Body)
		s.sessions[session.ID] = session
		return nil
	})
}

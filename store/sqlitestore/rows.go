package sqlitestore

import (
	"context"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// rows are the rows of the store as one transaction sees and changes them.
type rows struct {
	s     *Store
	c     *session
	known map[store.CodebaseID]codebase // those read so far, as they are now
}

var (
	_ rules.Rows        = (*rows)(nil)
	_ rules.CollectRows = (*rows)(nil)
	_ rules.LeaseRows   = (*rows)(nil)
)

func (s *Store) rowsOf(c *session) *rows { return &rows{s, c, map[store.CodebaseID]codebase{}} }

// look is view with the rows of the transaction.
func (s *Store) look(ctx context.Context, fn func(r *rows) error) error {
	return s.view(ctx, func(c *session) error { return fn(s.rowsOf(c)) })
}

// change is write with the rows of the transaction.
func (s *Store) change(ctx context.Context, fn func(r *rows) error) error {
	return s.write(ctx, func(c *session) error { return fn(s.rowsOf(c)) })
}

package pgstore

import (
	"context"

	"github.com/freshet/freshet/store/rules"
)

// rows are the rows of the tenant as one transaction sees and changes them.
type rows struct {
	s *Store
	c *tx
	// lock is added to the queries whose rows no other transaction may change until the end.
	lock string
}

var (
	_ rules.Rows        = rows{}
	_ rules.CollectRows = rows{}
	_ rules.LeaseRows   = rows{}
)

// hold is the lock of rows that a transaction decides by.
const hold = " FOR NO KEY UPDATE"

// look is view with the rows of the transaction.
func (s *Store) look(ctx context.Context, fn func(r rows) error) error {
	return s.view(ctx, func(c *tx) error { return fn(rows{s, c, ""}) })
}

// change is write with the rows of the transaction.
func (s *Store) change(ctx context.Context, fn func(r rows) error) error {
	return s.write(ctx, func(c *tx) error { return fn(rows{s, c, hold}) })
}

// changeAlone is writeAlone with the rows of the transaction.
func (s *Store) changeAlone(ctx context.Context, fn func(r rows) error) error {
	return s.writeAlone(ctx, func(c *tx) error { return fn(rows{s, c, hold}) })
}

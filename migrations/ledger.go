package migrations

import (
	"context"
	"fmt"

	"github.com/pressly/goose/v3/database"
)

// ledger is goose's table of versions with a table of checksums beside it. goose calls
// Insert and Delete in the transaction of the migration itself.
type ledger struct {
	database.Store
	set *Set
}

// CreateVersionTable creates both tables.
func (l *ledger) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE schema_checksums (
		version INTEGER PRIMARY KEY,
		name TEXT NOT NULL,
		checksum TEXT NOT NULL
	)`)
	if err != nil {
		return fmt.Errorf("create table of checksums: %w", err)
	}
	return l.Store.CreateVersionTable(ctx, db)
}

// Insert records a migration with the checksum of its text.
func (l *ledger) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	for _, m := range l.set.migrations {
		if m.Version != req.Version {
			continue
		}
		_, err := db.ExecContext(ctx, l.set.dialect.query("INSERT INTO schema_checksums (version, name, checksum) VALUES (?, ?, ?)"), m.Version, m.Name, m.Checksum)
		if err != nil {
			return fmt.Errorf("record checksum of %s: %w", m.Name, err)
		}
	}
	return l.Store.Insert(ctx, db, req)
}

// Delete forgets a migration that was undone.
func (l *ledger) Delete(ctx context.Context, db database.DBTxConn, version int64) error {
	if _, err := db.ExecContext(ctx, l.set.dialect.query("DELETE FROM schema_checksums WHERE version = ?"), version); err != nil {
		return fmt.Errorf("forget checksum of migration %d: %w", version, err)
	}
	return l.Store.Delete(ctx, db, version)
}

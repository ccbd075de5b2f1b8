package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/freshet/freshet/migrations"
)

// migrate brings the schema to the version of this binary, and gives the application role
// what it needs. A role that may only work with rows gets by when nothing is to be done.
func (s *Store) migrate(ctx context.Context, config *pgx.ConnConfig, set *migrations.Set) error {
	db := stdlib.OpenDB(*config)
	err := set.Apply(ctx, db)
	if err == nil && s.opts.Role != "" {
		err = grant(ctx, db, s.opts.Role)
	}
	return errors.Join(err, db.Close())
}

// lacking counts the tables that a role may not write, or the ledger that it may not read.
const lacking = `SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
	AND NOT has_table_privilege($1, oid, CASE WHEN relname LIKE 'schema\_%' THEN 'SELECT' ELSE 'DELETE' END)`

// grant makes the application role, and lets it read and write rows and nothing else. Most
// often there is nothing to do, and then it waits for nobody. Otherwise it holds the lock of
// migrations, because two grants at once fail.
func grant(ctx context.Context, db *sql.DB, role string) error {
	exists, missing, err := granted(ctx, db, role)
	if err == nil && (!exists || missing > 0) {
		err = migrations.Alone(ctx, db, func(conn *sql.Conn) error { return grantAlone(ctx, conn, role) })
	}
	if err != nil {
		return fmt.Errorf("grant role %s: %w", role, err)
	}
	return nil
}

// granted reports whether a role exists, and how many tables it lacks.
func granted(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, role string) (exists bool, missing int, err error) {
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", role).Scan(&exists)
	if err == nil && exists {
		err = db.QueryRowContext(ctx, lacking, role).Scan(&missing)
	}
	return exists, missing, err
}

func grantAlone(ctx context.Context, conn *sql.Conn, role string) (err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	// Roles are those of all databases of the server, another of which may make it now.
	name := pgx.Identifier{role}.Sanitize()
	if exists, _, err := granted(ctx, tx, role); err != nil {
		return err
	} else if !exists {
		if _, err := tx.ExecContext(ctx, "DO $$ BEGIN CREATE ROLE "+name+
			" NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"); err != nil {
			return err
		}
	}
	if _, missing, err := granted(ctx, tx, role); err != nil {
		return err
	} else if missing > 0 { // nobody else granted it meanwhile
		if err := grantTables(ctx, tx, name); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func grantTables(ctx context.Context, tx *sql.Tx, name string) error {
	var schema string
	if err := tx.QueryRowContext(ctx, "SELECT quote_ident(current_schema())").Scan(&schema); err != nil {
		return err
	}
	for _, statement := range []string{
		"GRANT USAGE ON SCHEMA " + schema + " TO " + name,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema + " TO " + name,
		"GRANT EXECUTE ON FUNCTION nearest_open(text, text, integer), nearest_index(bigint), nearest_drop(bigint) TO " + name,
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA " + schema + " TO " + name,
		"REVOKE INSERT, UPDATE, DELETE ON schema_versions, schema_checksums, schema_logins FROM " + name,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

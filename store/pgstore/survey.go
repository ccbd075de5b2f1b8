package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/freshet/freshet/migrations"
)

// MaxDimension is the most dimensions of a vector that the index of candidates takes: that
// of pgvector's HNSW on halfvec.
const MaxDimension = 4000

// Survey is how a database looks to a client that makes and changes nothing.
type Survey struct {
	// Where is the server and the database, without the password.
	Where string
	// RoundTrip is the time of the fastest of a few empty questions.
	RoundTrip time.Duration
	// Version is the server's as it counts them (150004), Release as it says them.
	Version int
	Release string
	// Vector is the version of pgvector in the database, "" before it is made, and
	// Available the one that the server could make.
	Vector, Available string
	// Schema is the version of the tables, 0 before the first migration, and Known that of
	// this binary. SchemaErr is why this binary would refuse them.
	Schema, Known int64
	SchemaErr     error
	// Role says what the role may in which rows are read and written.
	Role RoleSurvey
	// Ahead is how far the server's clock is ahead of this one.
	Ahead time.Duration
	// Connections are open, of MaxConnections.
	Connections, MaxConnections int
	// Unpublished counts the tenant's events that the log does not have yet, and Oldest is
	// the data of the first of them.
	Unpublished int
	Oldest      []byte
}

// RoleSurvey is what a role may, beyond reading and writing rows.
type RoleSurvey struct {
	Name string
	// Missing is set when there is no such role, and Refused when that of the URL may not
	// take it.
	Missing, Refused bool
	// Superuser and BypassesPolicies undo the separation of tenants.
	Superuser, BypassesPolicies bool
	// Owns counts the tables that are the role's own; Creates is set when it may make more.
	Owns    int
	Creates bool
	// Lacks counts the tables that it may not read and write.
	Lacks int
}

// Look surveys the database at url as Open with opts would find it. It returns an error
// when the database cannot be asked; it names no password.
func Look(ctx context.Context, url string, opts Options) (found Survey, err error) {
	set, err := migrations.Postgres()
	if err != nil {
		return found, err
	}
	pool, err := pgxpool.ParseConfig(url)
	if err != nil {
		return found, fmt.Errorf("survey: %w", err) // names no password
	}
	config, opts := pool.ConnConfig, opts.withDefaults()
	config.ConnectTimeout = connectTimeout
	found.Where, found.Known = fmt.Sprintf("%s:%d/%s", config.Host, config.Port, config.Database), set.Newest()
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, look := range []func(context.Context, *sql.DB, Options) error{
		found.lookAtServer, found.lookAtVector, found.lookAtRole,
	} {
		if err := look(ctx, db, opts); err != nil {
			return found, fmt.Errorf("survey of %s: %w", found.Where, err)
		}
	}
	if found.Schema, found.SchemaErr = set.State(ctx, db); found.Schema == 0 || found.SchemaErr != nil {
		return found, nil
	}
	if err := found.lookAtOutbox(ctx, db, opts); err != nil {
		return found, fmt.Errorf("survey of %s: %w", found.Where, err)
	}
	return found, nil
}

// lookAtOutbox counts what waits, if the user of the URL may read it.
func (f *Survey) lookAtOutbox(ctx context.Context, db *sql.DB, opts Options) error {
	return ignoreLacking(inTransaction(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT set_config('freshet.tenant', $1, true)", opts.Tenant); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, `SELECT data, (SELECT count(*) FROM outbox WHERE tenant = $1) FROM outbox
			WHERE tenant = $1 ORDER BY seq LIMIT 1`, opts.Tenant).Scan(&f.Oldest, &f.Unpublished)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}))
}

func inTransaction(ctx context.Context, db *sql.DB, run func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(run(tx), tx.Rollback())
}

// insufficientPrivilege is the SQLSTATE of who may not read a table.
const insufficientPrivilege = "42501"

// ignoreLacking takes away the error of who may not read a table: the survey of roles says so.
func ignoreLacking(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == insufficientPrivilege {
		return nil
	}
	return err
}

// pings is how often the round trip is measured.
const pings = 3

func (f *Survey) lookAtServer(ctx context.Context, db *sql.DB, opts Options) error {
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::int`,
	).Scan(&f.Version, &f.Release, &f.Connections, &f.MaxConnections)
	if err != nil {
		return err
	}
	for range pings {
		var theirs time.Time
		began, asked := time.Now(), opts.Now()
		if err := db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&theirs); err != nil {
			return err
		}
		if took := time.Since(began); f.RoundTrip == 0 || took < f.RoundTrip {
			f.RoundTrip, f.Ahead = took, theirs.Sub(asked.Add(took/2))
		}
	}
	return nil
}

func (f *Survey) lookAtVector(ctx context.Context, db *sql.DB, _ Options) error {
	return db.QueryRowContext(ctx, `SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),
		coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), '')`).Scan(&f.Vector, &f.Available)
}

func (f *Survey) lookAtRole(ctx context.Context, db *sql.DB, opts Options) error {
	r := &f.Role
	if r.Name = opts.Role; r.Name == "" {
		if err := db.QueryRowContext(ctx, "SELECT current_user").Scan(&r.Name); err != nil {
			return err
		}
	}
	var may bool
	err := db.QueryRowContext(ctx, `SELECT rolsuper, rolbypassrls, pg_has_role(current_user, oid, 'MEMBER'),
		(SELECT count(*) FROM pg_class WHERE relowner = r.oid AND relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace),
		coalesce(has_schema_privilege(oid, current_schema(), 'CREATE'), false)
		FROM pg_roles AS r WHERE rolname = $1`, r.Name).Scan(&r.Superuser, &r.BypassesPolicies, &may, &r.Owns, &r.Creates)
	if errors.Is(err, sql.ErrNoRows) {
		r.Missing = true
		return nil
	}
	if err != nil {
		return err
	}
	r.Refused = !may
	return db.QueryRowContext(ctx, lacking, r.Name).Scan(&r.Lacks)
}

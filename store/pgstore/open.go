package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet/freshet/migrations"
)

// Open opens the store of a tenant in the database that url names, and applies the
// migrations that the database lacks, as the role of the URL. Its tables stand in the
// first schema of the search path. The URL may set the pool of connections
// (pool_max_conns and others, see pgxpool.ParseConfig). It returns store.ErrNewerSchema,
// store.ErrMigrationModified or store.ErrCorrupt, and store.ErrUnavailable when the server
// cannot be reached.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	set, err := migrations.Postgres()
	if err != nil {
		return nil, err
	}
	return open(ctx, url, set, opts)
}

const (
	// connectTimeout bounds one attempt to reach the server.
	connectTimeout = 10 * time.Second
	// idleTimeout is how long the server keeps the locks of a process that stopped amid a
	// transaction.
	idleTimeout = 30 * time.Second
	// idleConnections is how long the pool keeps a connection that nobody uses.
	idleConnections = 5 * time.Minute
)

func open(ctx context.Context, url string, set *migrations.Set, opts Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err) // names no password
	}
	if err := opts.bound(config, url); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	ownClock := opts.Now != nil
	opts = opts.withDefaults()
	s := &Store{opts: opts, ownClock: ownClock, resolving: commitTime, tenant: opts.Tenant, now: opts.Now, log: opts.Log, schema: set.Newest()}
	where := config.ConnConfig.Host + "/" + config.ConnConfig.Database
	config.ConnConfig.ConnectTimeout = min(config.ConnConfig.ConnectTimeout, connectTimeout)
	if err := s.migrate(ctx, config.ConnConfig.Copy(), set); err != nil {
		return nil, fmt.Errorf("open store %s: %w", where, s.fault(ctx, err))
	}
	if err := s.connect(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", where, s.fault(ctx, err)), s.abort())
	}
	return s, nil
}

// bound limits the pool where the URL does not.
func (o Options) bound(config *pgxpool.Config, url string) error {
	written, err := pgx.ParseConfig(url) // which knows of no pool and keeps its settings
	if err != nil {
		return err
	}
	if _, set := written.RuntimeParams["pool_max_conns"]; o.MaxConns > 0 || !set {
		config.MaxConns = int32(cmp.Or(o.MaxConns, defaultMaxConns))
	}
	if _, set := written.RuntimeParams["pool_max_conn_idle_time"]; !set {
		config.MaxConnIdleTime = idleConnections
	}
	return nil
}

func (s *Store) connect(ctx context.Context, config *pgxpool.Config) (err error) {
	if s.codec, err = newCodec(); err != nil {
		return err
	}
	if err := s.cache.open(s.opts.CacheDir, s.opts.CacheBytes); err != nil {
		return err
	}
	parameters := config.ConnConfig.RuntimeParams
	parameters["application_name"] = "freshet"
	parameters["statement_timeout"] = milliseconds(s.opts.StatementTimeout)
	parameters["lock_timeout"] = milliseconds(s.opts.LockTimeout)
	parameters["idle_in_transaction_session_timeout"] = milliseconds(idleTimeout)
	parameters["client_min_messages"] = "warning"
	config.AfterConnect = s.takeRole
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	return s.loadEpoch(ctx)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// takeRole gives a new connection the role in which the store works.
func (s *Store) takeRole(ctx context.Context, conn *pgx.Conn) error {
	if s.opts.Role == "" {
		return nil
	}
	if _, err := conn.Exec(ctx, "SET ROLE "+pgx.Identifier{s.opts.Role}.Sanitize()); err != nil {
		return fmt.Errorf("take the role %s: %w", s.opts.Role, err)
	}
	return nil
}

func (s *Store) loadEpoch(ctx context.Context) error {
	found := false
	load := func(c *tx) (err error) {
		found, err = c.one(ctx, "SELECT epoch FROM stores WHERE tenant = $1", nil, &s.epoch)
		return err
	}
	if err := s.view(ctx, load); err != nil || found {
		return err
	}
	return s.write(ctx, func(c *tx) error {
		if _, err := c.exec(ctx, "INSERT INTO stores (tenant, epoch) VALUES ($1, $2) ON CONFLICT DO NOTHING", rand.Text()); err != nil {
			return fmt.Errorf("make the store of tenant %s: %w", s.tenant, err)
		}
		return load(c)
	})
}

// abort closes what a failed Open has opened.
func (s *Store) abort() error {
	if s.pool != nil {
		s.pool.Close()
	}
	if s.codec.encoder != nil {
		s.codec.close()
	}
	return s.cache.close()
}

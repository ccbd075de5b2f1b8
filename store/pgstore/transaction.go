package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet/freshet/migrations"
	"github.com/freshet/freshet/store"
)

// How a transaction locks the tenant.
type mode struct {
	begin string
	lock  string // "" for none
	// slow lets a statement take the time that it needs.
	slow bool
	// along is what goes to the server together with begin and commit: nothing is left to do
	// then. nil means that more is asked later.
	along func(batch *pgx.Batch)
}

// Keys of advisory locks of the tenant: one that everything that deletes what others may
// rely on holds alone, and one that gives the outbox the order of commits.
const (
	tenantLock = "hashtextextended('freshet tenant ' || current_schema() || ' ' || $1::text, 0)"
	outboxLock = "hashtextextended('freshet outbox ' || current_schema() || ' ' || $1::text, 0)"

	shareSchema = "SELECT pg_advisory_xact_lock_shared(" + migrations.PostgresLock + "), "
)

func reading() mode { return mode{begin: "begin isolation level repeatable read read only"} }

func sharing() mode {
	return mode{begin: "begin isolation level read committed", lock: shareSchema + "pg_advisory_xact_lock_shared(" + tenantLock + ")"}
}

func alone() mode {
	return mode{begin: "begin isolation level read committed", lock: shareSchema + "pg_advisory_xact_lock(" + tenantLock + ")", slow: true}
}

// building is for candidates, which take minutes and on which nothing relies. It holds no
// lock of the tenant, so that it holds up no collection, which in turn waits for none of
// its tables (see collectCandidates). It keeps migrations out as every write does, so that
// the schema is the known one until it ends: a migration that began meanwhile would come to
// wait for its tables with all writes behind. A migration that waits for it lets writes
// pass (see migrations.Alone).
func building() mode {
	return mode{begin: "begin isolation level read committed", lock: shareSchema + "$1::text", slow: true}
}

// view calls fn with a connection that sees one consistent state. fn may be called again
// after a lost connection and so begins anew with what it gathers.
func (s *Store) view(ctx context.Context, fn func(c *tx) error) error {
	return s.run(ctx, reading(), fn)
}

// row scans the first row of one statement, whose first argument is the tenant, into dest,
// and reports whether there is one. It is view in a single round trip: what is read
// thousands of times waits for little else.
func (s *Store) row(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	m := reading()
	m.along = func(batch *pgx.Batch) {
		found = false
		batch.Queue(query, append([]any{s.tenant}, args...)...).QueryRow(func(row pgx.Row) error {
			err := row.Scan(dest...)
			found = err == nil
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
	}
	err = s.run(ctx, m, nil)
	return found, err
}

// write calls fn in a durable transaction that sees what others committed meanwhile: all
// of it is committed, or nothing. fn may be called again and so begins anew with what it
// gathers.
func (s *Store) write(ctx context.Context, fn func(c *tx) error) error {
	return s.run(ctx, sharing(), fn)
}

// writeAlone is write while no other write of the tenant runs.
func (s *Store) writeAlone(ctx context.Context, fn func(c *tx) error) error {
	return s.run(ctx, alone(), fn)
}

// maxTries bounds how often a transaction is begun again.
const maxTries = 6

func (s *Store) run(ctx context.Context, m mode, fn func(c *tx) error) error {
	for try := 1; ; try++ {
		if err := s.usable(ctx); err != nil {
			return err
		}
		err := s.bounded(ctx, m, fn)
		var lost *lostCommit
		if errors.As(err, &lost) {
			var committed bool
			if committed, err = s.resolve(ctx, lost); committed {
				return nil
			}
		}
		if err == nil || try == maxTries || !transient(err) || ctx.Err() != nil {
			return s.fault(ctx, s.outgrown(ctx, err))
		}
		s.log.Debug("transaction is tried again", "try", try, "error", err)
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// pause waits a little longer with every try, and never as long as another does.
func pause(ctx context.Context, try int) error {
	longest := 10 * time.Millisecond << try
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bounded is attempt within the time that statements and locks may take, and a little
// more: the network may lose what the server's own timeouts say.
func (s *Store) bounded(ctx context.Context, m mode, fn func(c *tx) error) error {
	if m.slow {
		return s.attempt(ctx, m, fn)
	}
	within, cancel := context.WithTimeout(ctx, s.opts.LockTimeout+2*s.opts.StatementTimeout)
	defer cancel()
	err := s.attempt(within, m, fn)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no answer in time: %w: %v", store.ErrUnavailable, err) //nolint:errorlint // it is of within, not of ctx
	}
	return err
}

// attempt runs one transaction.
func (s *Store) attempt(ctx context.Context, m mode, fn func(c *tx) error) (err error) {
	conn, err := s.acquire(ctx, m)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Release() // which closes one that is still in a transaction
	c := &tx{conn: conn.Conn(), tenant: s.tenant}
	defer func() {
		if err != nil && !c.conn.IsClosed() {
			_, _ = c.conn.Exec(context.WithoutCancel(ctx), "rollback") // Release sees when it failed
		}
	}()
	if err := c.beginSoon(ctx, m, s.schema); err != nil {
		return err
	}
	if m.along != nil {
		return nil
	}
	if m.lock == "" {
		if err := fn(c); err != nil {
			return err
		}
		_, err = c.conn.Exec(ctx, "commit")
		return err
	}
	if err := c.checkFence(ctx, ""); err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	// Nobody takes the lease over between this look and the commit.
	if err := c.checkFence(ctx, " FOR SHARE"); err != nil {
		return err
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	s.rows.Add(c.written)
	return nil
}

// silence is how long a server may take to begin a transaction that waits for no lock, and
// connecting how long a connection for it is waited for. A server that takes longer is
// stopped or out of reach without a word, and who reads is told so before they give up by
// themselves.
const (
	silence    = 5 * time.Second
	connecting = 8 * time.Second
)

// acquire takes a connection from the pool, for a transaction without locks within the time
// that it may take.
func (s *Store) acquire(ctx context.Context, m mode) (*pgxpool.Conn, error) {
	if m.lock != "" {
		return s.pool.Acquire(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, connecting)
	defer cancel()
	conn, err := s.pool.Acquire(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("no connection in %s: %w: %v", connecting, store.ErrUnavailable, err) //nolint:errorlint // it is of soon, not of ctx
	}
	return conn, err
}

// beginSoon is begin within the time that it may take.
func (c *tx) beginSoon(ctx context.Context, m mode, known int64) error {
	if m.lock != "" {
		return c.begin(ctx, m, known)
	}
	soon, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	err := c.begin(soon, m, known)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no answer in %s: %w: %v", silence, store.ErrUnavailable, err) //nolint:errorlint // it is of soon, not of ctx
	}
	return err
}

// begin starts a transaction, takes its locks, names the tenant to the policies and
// compares the version of the schema, in one round trip.
func (c *tx) begin(ctx context.Context, m mode, known int64) error {
	var version *int64
	batch := &pgx.Batch{}
	batch.Queue(m.begin)
	if m.slow {
		batch.Queue("SET LOCAL statement_timeout = 0")
	}
	if m.lock != "" {
		batch.Queue(m.lock, c.tenant)
	}
	batch.Queue("SELECT set_config('freshet.tenant', $1::text, true), (SELECT max(version) FROM schema_checksums)", c.tenant).
		QueryRow(func(row pgx.Row) error { return row.Scan(nil, &version) })
	if m.along != nil {
		m.along(batch)
		batch.Queue("commit")
	}
	err := c.conn.SendBatch(ctx, batch).Close()
	switch {
	case version != nil && *version > known: // which is why what goes along may fail
		return fmt.Errorf("schema version %d, this binary knows %d: %w", *version, known, store.ErrNewerSchema)
	case err != nil:
		return fmt.Errorf("begin: %w", err)
	case version == nil || *version < known:
		return fmt.Errorf("the schema is older than this binary, whose version is %d: %w", known, store.ErrCorrupt)
	}
	return nil
}

// commitTime bounds how long a commit is waited for when its caller has gone, and then how
// long the server is asked what became of it.
const commitTime = 30 * time.Second

// commit asks for the id of the transaction first, so that a commit whose answer is lost
// can be asked about. Once begun it does not end with its caller.
func (c *tx) commit(ctx context.Context) error {
	var id *string
	if err := c.conn.QueryRow(ctx, "SELECT pg_current_xact_id_if_assigned()::text").Scan(&id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	tag, err := c.conn.Exec(ctx, "commit")
	switch {
	case err != nil && c.conn.IsClosed() && id != nil:
		return &lostCommit{id: *id, cause: err}
	case err != nil:
		return fmt.Errorf("commit: %w", err)
	case tag.String() != "COMMIT":
		return fmt.Errorf("commit: the server answered %q", tag.String())
	}
	return nil
}

// lostCommit is a commit of which no answer came.
type lostCommit struct {
	id    string
	cause error
}

// Error tells what happened.
func (l *lostCommit) Error() string { return "outcome of a commit is unknown: " + l.cause.Error() }

// Unwrap returns why no answer came.
func (l *lostCommit) Unwrap() error { return l.cause }

// resolve asks the server whether a transaction was committed. When it was not, the error
// says why it is to be tried again; one that wraps store.ErrUnavailable says that nobody
// knows, and then it is not: it may be there already.
func (s *Store) resolve(ctx context.Context, lost *lostCommit) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.resolving)
	defer cancel()
	unknown := fmt.Errorf("%w: %w", store.ErrUnavailable, lost)
	for try := 1; ; try = min(try+1, maxTries) {
		var status *string
		err := s.pool.QueryRow(ctx, "SELECT pg_xact_status($1::xid8)", lost.id).Scan(&status)
		switch {
		case err == nil && status != nil && *status == "committed":
			return true, nil
		case err == nil && status != nil && *status == "aborted":
			return false, lost.cause
		case err == nil && status == nil:
			return false, unknown // it is too old
		}
		if err := pause(ctx, try); err != nil {
			return false, unknown
		}
	}
}

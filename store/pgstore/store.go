package pgstore

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet/freshet/store"
)

var _ store.Store = (*Store)(nil)

// Options are what a Store may be given. The zero value works.
type Options struct {
	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil means discard

	// Tenant is whose rows the store reads and writes; "" means default.
	Tenant string
	// Role is the role in which the store works with rows: it owns nothing and may change
	// no table. Open makes and grants it when the role of the URL may. "" means the role
	// of the URL, which a worker without the right to migrate uses with a URL of its own.
	Role string
	// CacheDir keeps segments for reading, up to CacheBytes. It may be shared by stores and
	// outlive them. "" means a temporary directory that Close removes.
	CacheDir   string
	CacheBytes int64 // 0 means 4 GiB

	// CandidatesFrom is how many chunks a snapshot has before IndexCandidates indexes it; 0 means
	// 2,000,000.
	CandidatesFrom int

	// MaxConns bounds the connections; 0 means what the URL says in pool_max_conns, or 16.
	MaxConns int
	// StatementTimeout and LockTimeout bound what one statement and one wait for a lock
	// may take on the server; 0 means a minute and 20 seconds. Collect, Check, Forget and
	// migrations take the time that they need.
	StatementTimeout time.Duration
	LockTimeout      time.Duration
}

// The defaults of Options.
const (
	defaultTenant           = "default"
	defaultCacheBytes       = 4 << 30
	defaultMaxConns         = 16
	defaultStatementTimeout = time.Minute
	defaultLockTimeout      = 20 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tenant == "" {
		o.Tenant = defaultTenant
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.CandidatesFrom == 0 {
		o.CandidatesFrom = defaultCandidatesFrom
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = defaultStatementTimeout
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = defaultLockTimeout
	}
	return o
}

// Store is a store.Store in a PostgreSQL database. It may be used from several goroutines.
type Store struct {
	opts   Options
	tenant string
	now    func() time.Time
	log    *slog.Logger
	epoch  string
	schema int64 // version of the schema that this binary knows
	// ownClock is set when leases go by now and not by the server's clock.
	ownClock bool
	// resolving is how long the outcome of a commit is asked for.
	resolving time.Duration

	pool    *pgxpool.Pool
	codec   codec
	names   interned
	cache   segmentCache
	rows    atomic.Int64 // rows written
	closed  atomic.Bool
	closing sync.Once
}

// Epoch is a random word made with the store of the tenant.
func (s *Store) Epoch() string { return s.epoch }

// RowsWritten counts the rows inserted, changed and deleted since the store was opened.
func (s *Store) RowsWritten() int64 { return s.rows.Load() }

// Close waits for the calls in hand and closes the connections. It may be called twice.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		s.closed.Store(true)
		s.pool.Close()
		s.codec.close()
		err = s.cache.close()
	})
	return err
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

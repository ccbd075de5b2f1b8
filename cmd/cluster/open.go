package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore"
)

// ackWait is the time after the last heartbeat of a worker when its work is redelivered. A
// worker sends a heartbeat at every third of it.
const ackWait = 10 * time.Second

// Options of Open.
type Options struct {
	// CacheDir keeps segments for reading; "" means a temporary directory.
	CacheDir string
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means discard
	// OpenStore opens the shared store; nil means PostgreSQL at Settings.Database.
	OpenStore func(ctx context.Context) (store.Store, error)
}

// Parts are the shared log and the shared store, as one process holds them.
type Parts struct {
	Store store.Store
	Bus   *natsbus.Bus
	// Candidates is the store when it indexes the vectors of large codebases, else nil.
	Candidates Candidates
	// Holder identifies this process in leases. It must never be reused.
	Holder string
}

// Open opens the shared log and store. Close releases both.
func Open(ctx context.Context, s Settings, o Options) (*Parts, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p := &Parts{Holder: s.Place + "/" + strings.ToLower(rand.Text())}
	if o.OpenStore == nil {
		o.OpenStore = func(ctx context.Context) (store.Store, error) {
			return pgstore.Open(ctx, s.Database, pgstore.Options{
				Tenant: s.Tenant, Role: s.Role, CacheDir: o.CacheDir, Now: o.Now, Log: o.Log,
			})
		}
	}
	var err error
	if p.Store, err = o.OpenStore(ctx); err != nil {
		return nil, advise(tool.CodeStoreUnavailable, fmt.Errorf("open the shared store: %w", err))
	}
	p.Candidates, _ = p.Store.(Candidates) // others have every vector compared
	p.Bus, err = natsbus.Open(ctx, s.LogOptions(o.Now, o.Log))
	if err != nil {
		return nil, errors.Join(advise(tool.CodeBusUnavailable, fmt.Errorf("open the shared event log: %w", err)), p.Store.Close())
	}
	return p, nil
}

// AdviseDamage says what to do about a shared store that is damaged. It keeps the advice that
// an error has already.
func AdviseDamage(err error) error {
	if known := new(tool.Error); errors.As(err, &known) {
		return err
	}
	command := func(line, why string) tool.NextStep {
		return tool.NextStep{Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": line}, Why: why}
	}
	e := tool.Errorf(tool.CodeStoreUnavailable, "the shared store is damaged: %w", err)
	e.Retryable = false
	return e.Next(command(`pg_restore --clean --if-exists -d "$FRESHET_DATABASE_URL" backup.dump`,
		"puts the database back from a backup, while all hosts and workers are stopped; see docs/operations.md, Restore PostgreSQL from a backup")).
		Next(command("freshet verify --repair", "makes what the backup lacks again from the files on disk, in each codebase"))
}

// advise sends whoever cannot open a part of the cluster to the command that examines all of
// them. Errors that say themselves what to do stay as they are.
func advise(code tool.Code, err error) error {
	switch {
	case errors.Is(err, store.ErrNewerSchema), errors.Is(err, store.ErrMigrationModified):
		return err
	case store.IsDamage(err):
		return AdviseDamage(err)
	}
	return tool.Errorf(code, "%w", err).Next(tool.NextStep{
		Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": "freshet doctor"}, Why: "names each part of the cluster that cannot be used, and what to do about it",
	})
}

// LogOptions are how the log of the settings is opened. Check has found them right.
func (s Settings) LogOptions(now func() time.Time, log *slog.Logger) natsbus.Options {
	replicas, _ := s.replicas() // Check says what is wrong
	return natsbus.Options{
		URL: s.NATS, Tenant: s.Tenant, AckWait: ackWait, Now: now, Log: log,
		Remote: natsbus.Remote{
			Credentials: s.Credentials, NKey: s.NKey, CA: s.CA, Cert: s.Cert, Key: s.Key, Replicas: replicas,
		},
	}
}

// Close releases log and store. It may be called twice.
func (p *Parts) Close() error { return errors.Join(p.Bus.Close(), p.Store.Close()) }

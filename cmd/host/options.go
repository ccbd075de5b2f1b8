package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/salvage"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Options of a host. Home is required.
type Options struct {
	// Home is the data directory.
	Home string
	// Version is that of the binary, for people.
	Version string
	// ChunkCommand starts a chunk child.
	ChunkCommand []string
	// DrainTimeout is how long Close waits for calls in flight; 0 means 5 s.
	DrainTimeout time.Duration
	// Reconcile is the time between looks for work that no event speaks of; 0 means 30 s.
	Reconcile time.Duration
	// Watch makes synchronizers hear of changes, and follows every served codebase from the
	// start. It is for hosts that live long: setting up costs about a third of a check.
	Watch bool
	// Cluster says where log and store are shared; the zero value keeps both in Home.
	Cluster cluster.Settings
	// Roles are what this host does of the work on a shared log; nil means everything.
	Roles []pipeline.Role
	// Provider opens the embedding provider; nil means the built-in model. It is called by
	// the process that becomes the host.
	Provider func(ctx context.Context, home string) (embedding.Querier, error)
	// Reranking opens the reranker; nil means that there is none. It is called by the process
	// that becomes the host.
	Reranking func() (search.Reranking, error)
	// OpenStore is that of cluster.Options.
	OpenStore func(ctx context.Context) (store.Store, error)
	Now       func() time.Time // nil means time.Now
	Log       *slog.Logger     // nil means discard

	onSuccessor func(*Host) // told when a new store is to take the place of the host's
	replaced    time.Time   // when the store was last made anew by this process

	amend          func(*store.Recipe) // what another version of the binary would do, for tests
	candidatesFrom int                 // search.Options.CandidatesFrom, for tests
}

func (o Options) withDefaults() Options {
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 5 * time.Second
	}
	if o.Reconcile == 0 {
		o.Reconcile = 30 * time.Second
	}
	if o.Provider == nil {
		o.Provider = func(context.Context, string) (embedding.Querier, error) { return builtin.New(), nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// mayReplace reports whether the store is the data directory's own.
func (o Options) mayReplace() bool { return !o.Cluster.Shared() }

// salvage are the options of a salvage in the data directory.
func (o Options) salvage() salvage.Options {
	return salvage.Options{Home: o.Home, Now: o.Now, Log: o.Log}
}

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/disk"
	"github.com/freshet/freshet/cmd/meter"
	"github.com/freshet/freshet/cmd/operation"
	"github.com/freshet/freshet/cmd/recipe"
	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/cmd/verify"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/outagecache"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/store/sqlitestore"
	"github.com/freshet/freshet/sync/freshness"
)

// Host is the holder of a data directory.
type Host struct {
	opts   Options
	recipe store.Recipe

	holder     string             // in leases of a shared store
	candidates cluster.Candidates // of a shared store that has them
	lock       *datadir.Held
	store      store.Store
	reads      store.Reader        // what answers are read from: the store, or standby
	standby    *outagecache.Reader // over a shared store
	bus        *natsbus.Bus
	pool       *chunk.Pool
	provider   embedding.Querier
	engine     *search.Engine
	pipeline   *pipeline.Pipeline
	server     *socket.Server
	hub        freshness.Hub
	damage     freshness.Damage
	files      *disk.Files
	followers  *freshness.Followers
	meter      *meter.Meter
	standing   *meter.Standing
	tracker    *operation.Tracker
	runner     *operation.Runner
	verifier   *verify.Verifier
	backend    tool.Backend
	masking    secret.Memory // of what answers show

	stop    context.CancelFunc
	work    *errgroup.Group // consumers, synchronizers, operations, server
	workCtx context.Context //nolint:containedctx // of work, which Close ends and waits for

	mu        sync.Mutex // guards what follows
	closed    bool
	reset     *tool.LogReset            // when the log was last begun anew for damage
	resetTold map[store.CodebaseID]bool // by an answer about the codebase
	successor string                    // a closed store that is to take the place of the host's
	local     sync.WaitGroup            // calls of the session that this host is

	building sync.Mutex // held by who makes the store anew
}

// Open becomes the host of a data directory and starts its workers. It returns an error
// that wraps datadir.ErrHeld when another process is the host.
func Open(ctx context.Context, opts Options) (*Host, error) {
	h := &Host{opts: opts.withDefaults()}
	h.meter = meter.New()
	h.tracker = operation.NewTracker(&h.hub, h.opts.Now, func(id store.CodebaseID, err error) []tool.NextStep {
		return operation.Advise(h.opts.Home, id, err)
	}, h.providerWaits)
	var err error
	if h.lock, err = datadir.Lock(h.opts.Home); err != nil {
		return nil, datadir.Advise(h.opts.Home, err)
	}
	if err := h.begin(ctx); err != nil {
		return nil, h.adviseOpening(errors.Join(err, h.release()))
	}
	return h, nil
}

// begin opens what the data directory holds, heals the log and starts the workers.
func (h *Host) begin(ctx context.Context) error {
	if err := datadir.Sweep(h.opts.Home); err != nil {
		return err
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	if h.shared() { // who applies heals
		return h.start(ctx)
	}
	if report := h.bus.Report(); report.Recreated {
		h.healed("unreadable")
	}
	if _, err := h.pipeline.Reconciler.Heal(ctx); err != nil {
		return fmt.Errorf("heal the event log: %w", err)
	}
	return h.start(ctx)
}

// open opens what the data directory holds and makes the parts.
func (h *Host) open(ctx context.Context) error {
	if err := h.openParts(ctx); err != nil {
		return err
	}
	var err error
	if h.provider, err = h.opts.Provider(ctx, h.opts.Home); err != nil {
		return err
	}
	h.recipe = recipe.Of(h.provider)
	if h.opts.amend != nil {
		h.opts.amend(&h.recipe)
	}
	if h.pool, err = chunk.NewPool(chunk.Options{Command: h.opts.ChunkCommand, Log: h.opts.Log}); err != nil {
		return err
	}
	var reranking search.Reranking
	if h.opts.Reranking != nil {
		if reranking, err = h.opts.Reranking(); err != nil {
			return err
		}
	}
	h.engine = search.New(h.reads, h.provider, search.Options{Candidates: h.candidates, CandidatesFrom: h.opts.candidatesFrom, Reranking: reranking})
	h.files = disk.New(disk.Options{Codebase: h.reads.Codebase, Here: h.here, Scan: h.scanning, Ask: h.bus.Ask, Log: h.opts.Log})
	h.followers = h.newFollowers()
	h.pipeline = pipeline.New(h.parts())
	h.standing = meter.NewStanding(h.bus, h.store, h.pipeline.Consumers(), h.opts.Now, h.opts.Log)
	h.runner, h.verifier = h.newRunner(), h.newVerifier()
	h.backend = h.newBackend()
	return nil
}

// openParts opens store and log: those in the data directory, or those that are shared.
func (h *Host) openParts(ctx context.Context) error {
	if h.shared() {
		return h.openShared(ctx)
	}
	local, err := sqlitestore.Open(ctx, datadir.StorePath(h.opts.Home), sqlitestore.Options{Log: h.opts.Log, Now: h.opts.Now})
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	h.store, h.reads = local, local
	h.bus, err = natsbus.Open(ctx, natsbus.Options{Dir: datadir.LogPath(h.opts.Home), Log: h.opts.Log})
	if err != nil {
		return fmt.Errorf("open event log: %w", err)
	}
	return nil
}

// parts are what the pipeline is wired from.
func (h *Host) parts() pipeline.Parts {
	p := pipeline.Parts{
		Store: h.store, Bus: h.bus, Recipe: h.recipe, Provider: h.provider, Cutter: h.pool,
		Quarantine: chunk.Quarantine, Fallback: chunk.Fallback, Observer: h.tracker, OnSealed: h.sealed, OnHealed: h.healed, OnTrouble: h.trouble, Tree: h.files,
		Reconcile: h.opts.Reconcile, Now: h.opts.Now, Log: h.opts.Log,
	}
	if h.shared() {
		p.Candidates = h.candidates
		p.Observer = nil // what is done here is heard of like what is done elsewhere
		p.Holder, p.Roles = h.holder, h.opts.Roles
	}
	return h.meter.Wire(p)
}

// start starts the workers and the server.
func (h *Host) start(ctx context.Context) error {
	var err error
	if h.server, err = socket.Listen(ctx, h.opts.Home, h.opts.Version, h.dispatch, h.opts.Log); err != nil {
		return err
	}
	workCtx, stop := context.WithCancel(context.WithoutCancel(ctx)) // Close ends the work, not ctx
	h.stop = stop
	h.work, h.workCtx = errgroup.WithContext(workCtx)
	h.work.Go(func() error { return h.pipeline.Run(h.workCtx) })
	if h.shared() {
		h.work.Go(func() error { return h.hear(h.workCtx) })
		h.work.Go(func() error { return h.republish(h.workCtx) })
	}
	h.work.Go(func() error { return h.server.Serve(h.workCtx) })
	h.work.Go(func() error { return h.stay(h.workCtx) })
	if h.opts.Watch {
		h.followAll(ctx)
	}
	return nil
}

// Close stops taking calls, lets those in flight end for a while, stops the workers and
// releases the data directory. It may be called twice.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	h.followers.Close()
	err := h.server.Close()
	drained := make(chan struct{})
	go func() { // ends with the calls, which end at the latest when the work is stopped
		h.server.Wait()
		close(drained)
	}()
	timer := time.NewTimer(h.opts.DrainTimeout)
	select {
	case <-drained:
	case <-timer.C:
	}
	timer.Stop()
	h.drain()
	h.stop()
	h.local.Wait()
	if werr := h.work.Wait(); werr != nil && !errors.Is(werr, context.Canceled) {
		err = errors.Join(err, werr)
	}
	<-drained
	return errors.Join(err, h.release())
}

// drain lets the stages finish what they have in hand, where that is paid for or others
// would do it again: what a host alone had begun costs it milliseconds when it goes on.
func (h *Host) drain() {
	if _, local := h.provider.(embedding.PathEmbedder); local && !h.shared() {
		return
	}
	ctx, cancel := context.WithTimeout(h.workCtx, h.opts.DrainTimeout)
	defer cancel()
	h.pipeline.Drain(ctx)
}

// release closes what is open, in the reverse order, the lock last.
func (h *Host) release() error {
	var errs []error
	if h.engine != nil {
		errs = append(errs, h.engine.Close())
	}
	if h.pool != nil {
		errs = append(errs, h.pool.Close())
	}
	embedding.Close(h.provider)
	if h.bus != nil {
		errs = append(errs, h.bus.Close())
	}
	if h.standby != nil {
		errs = append(errs, h.standby.Close())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	return errors.Join(append(errs, h.lock.Close())...)
}

// adviseOpening says what to do about what a data directory or a cluster holds and cannot
// be opened. A store that is shared is none of the directory.
func (h *Host) adviseOpening(err error) error {
	if h.shared() && store.IsDamage(err) {
		return cluster.AdviseDamage(err)
	}
	return datadir.Advise(h.opts.Home, err)
}

package meter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/mcp/exposition"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
)

// Log is what Standing asks of the event log; natsbus.Bus is one.
type Log interface {
	State(ctx context.Context) (bus.State, error)
	Lags(ctx context.Context, consumers []string) (map[store.CodebaseID]natsbus.Lag, error)
	Marks(ctx context.Context) (natsbus.Marks, error)
	Ping(ctx context.Context) error
}

// Index is what Standing asks of the store; store.Store is one.
type Index interface {
	Codebases(ctx context.Context) ([]store.Codebase, error)
	Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (store.Snapshot, error)
	Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error)
	LogPosition(ctx context.Context) (store.LogPosition, error)
}

// Standing reads how far behind the codebases are. What it read serves all who ask within a
// few seconds. It may be used from several goroutines.
type Standing struct {
	log       Log
	index     Index
	consumers []string
	now       func() time.Time
	logger    *slog.Logger

	mu    sync.Mutex // guards all below, and is held while it is read anew
	at    time.Time
	state standing
}

// NewStanding makes one over a log with the consumers that have to follow it, and a store.
func NewStanding(log Log, index Index, consumers []string, now func() time.Time, logger *slog.Logger) *Standing {
	return &Standing{log: log, index: index, consumers: consumers, now: now, logger: logger}
}

// standing is one reading.
type standing struct {
	logErr, indexErr error
	log              bus.State
	marks            natsbus.Marks
	lags             map[store.CodebaseID]natsbus.Lag
	codebases        []codebase
}

type codebase struct {
	store.Codebase
	lag, age float64 // seconds
	parked   int
}

// A reading is given up after readTime, and served for readLasts.
const (
	readTime  = 5 * time.Second
	readLasts = 3 * time.Second
)

// Write adds what was read to a page. A log or a store that is away is told by the page and
// leaves out what only it knows.
func (s *Standing) Write(ctx context.Context, p *exposition.Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at).Abs() > readLasts {
		s.state, s.at = s.read(ctx), now
	}
	s.state.write(p)
}

func (s *Standing) read(ctx context.Context) standing {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	var r standing
	var both errgroup.Group
	both.Go(func() error {
		if r.log, r.logErr = s.log.State(ctx); r.logErr == nil {
			r.marks, r.logErr = s.log.Marks(ctx)
		}
		if r.logErr == nil {
			r.lags, r.logErr = s.log.Lags(ctx, s.consumers)
		}
		return nil
	})
	both.Go(func() error {
		r.codebases, r.indexErr = s.codebases(ctx)
		return nil
	})
	_ = both.Wait() // neither returns one
	for _, err := range []error{r.logErr, r.indexErr} {
		if err != nil {
			s.logger.Warn("metrics", "error", err)
		}
	}
	return r
}

func (s *Standing) codebases(ctx context.Context) ([]codebase, error) {
	all, err := s.index.Codebases(ctx)
	if err != nil {
		return nil, fmt.Errorf("list codebases: %w", err)
	}
	var found []codebase
	for _, b := range all {
		c, err := s.codebase(ctx, b)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNoSnapshot) {
			continue // cleared since it was listed, or collected behind a newer one, which is read next
		}
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

func (s *Standing) codebase(ctx context.Context, b store.Codebase) (c codebase, err error) {
	c.Codebase = b
	if b.Latest > 0 {
		latest, err := s.index.Snapshot(ctx, b.ID, b.Latest)
		if err != nil {
			return c, fmt.Errorf("snapshot %d of %s: %w", b.Latest, b.ID, err)
		}
		if latest.Level != store.LevelFull && !latest.Abandoned {
			c.lag = max(s.now().Sub(latest.OpenedAt).Seconds(), 0)
		}
	}
	if b.Current > 0 {
		current, err := s.index.Snapshot(ctx, b.ID, b.Current)
		if err != nil {
			return c, fmt.Errorf("snapshot %d of %s: %w", b.Current, b.ID, err)
		}
		c.age = max(s.now().Sub(current.SealedAt).Seconds(), 0)
	}
	failures, err := s.index.Failures(ctx, b.ID)
	if err != nil {
		return c, fmt.Errorf("failures of %s: %w", b.ID, err)
	}
	for _, f := range failures {
		if f.Parked {
			c.parked++
		}
	}
	return c, nil
}

func (r standing) write(p *exposition.Page) {
	gauge := func(name, help string, samples []exposition.Sample, labels ...string) {
		p.Gauge(exposition.Family{Name: name, Help: help, Labels: labels}, samples...)
	}
	one := func(v float64) []exposition.Sample { return []exposition.Sample{{Value: v}} }
	up := func(err error) []exposition.Sample {
		if err != nil {
			return one(0)
		}
		return one(1)
	}
	each := func(value func(c codebase) float64) (samples []exposition.Sample) {
		for _, c := range r.codebases {
			samples = append(samples, exposition.Sample{Value: value(c), Labels: []string{string(c.ID), c.Name}})
		}
		return samples
	}
	gauge("freshet_log_up", "Whether the event log answers.", up(r.logErr))
	gauge("freshet_store_up", "Whether the store answers.", up(r.indexErr))
	var lags, log, dead []exposition.Sample
	if r.logErr == nil {
		lags = each(func(c codebase) float64 { return float64(r.lags[c.ID].Messages) })
		log, dead = one(float64(r.log.Messages)), one(float64(r.marks.DeadLetters))
	}
	gauge("freshet_lag_events", "Events of a codebase that a stage has not finished, up to 20,000.", lags, "codebase", "name")
	gauge("freshet_lag_seconds", "Age of the snapshot that awaits its seal, 0 when none does.",
		each(func(c codebase) float64 { return c.lag }), "codebase", "name")
	gauge("freshet_snapshot_age_seconds", "Time since the served snapshot was sealed.",
		each(func(c codebase) float64 { return c.age }), "codebase", "name")
	gauge("freshet_parked_files", "Files that were given up, see freshet status.",
		each(func(c codebase) float64 { return float64(c.parked) }), "codebase", "name")
	gauge("freshet_dead_letters", "Messages that no worker could take, see freshet dead-letters.", dead)
	gauge("freshet_log_messages", "Messages in the event log.", log)
	gauge("freshet_log_bytes", "Bytes in the event log.", scale(log, float64(r.log.Bytes)))
	consumers := func(value func(c bus.ConsumerState) float64) (samples []exposition.Sample) {
		for _, name := range slices.Sorted(maps.Keys(r.log.Consumers)) {
			samples = append(samples, exposition.Sample{Value: value(r.log.Consumers[name]), Labels: []string{name}})
		}
		return samples
	}
	gauge("freshet_consumer_pending", "Messages that a consumer has not delivered.",
		consumers(func(c bus.ConsumerState) float64 { return float64(c.Pending) }), "consumer")
	gauge("freshet_consumer_in_flight", "Deliveries that are not settled.",
		consumers(func(c bus.ConsumerState) float64 { return float64(c.InFlight) }), "consumer")
	gauge("freshet_consumer_redelivered", "Messages in flight that were delivered before.",
		consumers(func(c bus.ConsumerState) float64 { return float64(c.Redelivers) }), "consumer")
	var advisories []exposition.Sample
	for _, kind := range slices.Sorted(maps.Keys(r.marks.Advisories)) {
		advisories = append(advisories, exposition.Sample{Value: float64(r.marks.Advisories[kind]), Labels: []string{kind}})
	}
	gauge("freshet_advisories", "What the cluster advised of since the start of this process, by kind.", advisories, "kind")
}

// scale is the same samples with another value.
func scale(samples []exposition.Sample, value float64) []exposition.Sample {
	if len(samples) == 0 {
		return nil
	}
	return []exposition.Sample{{Value: value}}
}

package meter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
)

// Log is the part of the event log that Standing reads; natsbus.Bus is one.
type Log interface {
	State(ctx context.Context) (bus.State, error)
	Lags(ctx context.Context, consumers []string) (map[store.CodebaseID]natsbus.Lag, error)
	Marks(ctx context.Context) (natsbus.Marks, error)
	Ping(ctx context.Context) error
}

// Index is the part of the store that Standing reads; store.Store is one.
type Index interface {
	Codebases(ctx context.Context) ([]store.Codebase, error)
	Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (store.Snapshot, error)
	Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error)
	LogPosition(ctx context.Context) (store.LogPosition, error)
}

// Standing collects the lag of the codebases. A reading is cached for a few seconds. It may be
// used from several goroutines.
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

var _ prometheus.Collector = (*Standing)(nil)

// Describe implements prometheus.Collector. What is collected depends on what can be read.
func (s *Standing) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. An unreachable log or store has its own gauge, and
// the metrics that need it are left out.
func (s *Standing) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.at.IsZero() || now.Sub(s.at).Abs() > readLasts {
		s.state, s.at = s.read(), now
	}
	s.state.collect(to)
}

func (s *Standing) read() standing {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
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
			s.logger.Warn("reading for metrics failed", "error", err)
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

// sample is one value of a gauge under the values of its labels.
type sample struct {
	value  float64
	labels []string
}

func (r standing) collect(to chan<- prometheus.Metric) {
	gauge := func(name, help string, samples []sample, labels ...string) {
		desc := prometheus.NewDesc(name, help, labels, nil)
		for _, s := range samples {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, s.value, s.labels...)
		}
	}
	one := func(v float64) []sample { return []sample{{value: v}} }
	up := func(err error) []sample {
		if err != nil {
			return one(0)
		}
		return one(1)
	}
	each := func(value func(c codebase) float64) (samples []sample) {
		for _, c := range r.codebases {
			samples = append(samples, sample{value(c), []string{string(c.ID), strings.ToValidUTF8(c.Name, "\uFFFD")}})
		}
		return samples
	}
	consumers := func(value func(c bus.ConsumerState) float64) (samples []sample) {
		for name, c := range r.log.Consumers {
			samples = append(samples, sample{value(c), []string{name}})
		}
		return samples
	}
	gauge("freshet_log_up", "Whether the event log answers.", up(r.logErr))
	gauge("freshet_store_up", "Whether the store answers.", up(r.indexErr))
	gauge("freshet_lag_seconds", "Age of the snapshot that awaits its seal, 0 when none does.",
		each(func(c codebase) float64 { return c.lag }), "codebase", "name")
	gauge("freshet_snapshot_age_seconds", "Time since the served snapshot was sealed.",
		each(func(c codebase) float64 { return c.age }), "codebase", "name")
	gauge("freshet_parked_files", "Files that were given up, see freshet status.",
		each(func(c codebase) float64 { return float64(c.parked) }), "codebase", "name")
	if r.logErr == nil {
		gauge("freshet_lag_events", "Events of a codebase that a stage has not finished, up to 20,000.",
			each(func(c codebase) float64 { return float64(r.lags[c.ID].Messages) }), "codebase", "name")
		gauge("freshet_dead_letters", "Messages that no worker could take, see freshet dead-letters.", one(float64(r.marks.DeadLetters)))
		gauge("freshet_log_messages", "Messages in the event log.", one(float64(r.log.Messages)))
		gauge("freshet_log_bytes", "Bytes in the event log.", one(float64(r.log.Bytes)))
	}
	gauge("freshet_consumer_pending", "Messages that a consumer has not delivered.",
		consumers(func(c bus.ConsumerState) float64 { return float64(c.Pending) }), "consumer")
	gauge("freshet_consumer_in_flight", "Deliveries that are not settled.",
		consumers(func(c bus.ConsumerState) float64 { return float64(c.InFlight) }), "consumer")
	gauge("freshet_consumer_redelivered", "Messages in flight that were delivered before.",
		consumers(func(c bus.ConsumerState) float64 { return float64(c.Redelivers) }), "consumer")
	var advisories []sample
	for kind, n := range r.marks.Advisories {
		advisories = append(advisories, sample{float64(n), []string{kind}})
	}
	gauge("freshet_advisories", "What the cluster advised of since the start of this process, by kind.", advisories, "kind")
}

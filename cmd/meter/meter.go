package meter

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/store"
)

var (
	_ stage.Observer       = (*Meter)(nil)
	_ prometheus.Collector = (*Meter)(nil)
)

// Meter counts what a process does. Its methods may be called from several goroutines.
type Meter struct {
	events, files, units, retries, seals, calls, segments *prometheus.CounterVec
	texts                                                 prometheus.Counter
	sealing, checks                                       *prometheus.HistogramVec
	embedding                                             prometheus.Histogram
}

// New returns a meter of a process that has done nothing.
func New() *Meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	seconds := []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30}
	hours := []float64{.1, .3, 1, 3, 10, 30, 100, 300, 1000, 3600, 21600}
	m := &Meter{
		events:   counter("freshet_stage_events_total", "Events that a stage finished.", "stage"),
		files:    counter("freshet_stage_files_total", "Files that a stage finished: made, or reused because the store had the result.", "stage", "result"),
		units:    counter("freshet_stage_units_total", "Chunks and vectors that were made.", "stage"),
		retries:  counter("freshet_retries_total", "Deliveries that failed and come again, by cause.", "cause"),
		seals:    counter("freshet_seals_total", "Snapshots that were sealed, by level.", "level"),
		calls:    counter("freshet_provider_calls_total", "Calls of the embedding provider, by outcome.", "outcome"),
		segments: counter("freshet_segment_bytes_total", "Bytes of segments that were written: for new, or again by a merge.", "cause"),
		texts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "freshet_provider_texts_total", Help: "Texts that the embedding provider was sent.",
		}),
		sealing: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freshet_seal_seconds", Help: "Time from the opening of a snapshot to its seal.", Buckets: hours,
		}, []string{"level"}),
		checks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freshet_check_seconds", Help: "Time of a check of a tree, without the wait for what it found.", Buckets: seconds,
		}, []string{"state"}),
		embedding: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "freshet_provider_seconds", Help: "Time of a call of the embedding provider.", Buckets: seconds,
		}),
	}
	for _, s := range []store.Stage{store.StageChunk, store.StageEmbed} {
		m.count(s, 0, 0, 0, 0)
	}
	m.Written(0, 0)
	for _, cause := range []string{causeStore, causeProvider, causeFile} {
		m.retries.WithLabelValues(cause)
	}
	return m
}

// Processed counts files that a stage finished.
func (m *Meter) Processed(_ store.CodebaseID, _ uint64, s store.Stage, done, reused, units int) {
	m.count(s, 1, done, reused, units)
}

func (m *Meter) count(s store.Stage, events, done, reused, units int) {
	m.events.WithLabelValues(string(s)).Add(float64(events))
	m.files.WithLabelValues(string(s), "made").Add(float64(done))
	m.files.WithLabelValues(string(s), "reused").Add(float64(reused))
	m.units.WithLabelValues(string(s)).Add(float64(units))
}

// Sealed counts a seal.
func (m *Meter) Sealed(s store.Snapshot) {
	m.seals.WithLabelValues(s.Level.String()).Inc()
	if !s.SealedAt.IsZero() && !s.OpenedAt.IsZero() {
		m.sealing.WithLabelValues(s.Level.String()).Observe(max(s.SealedAt.Sub(s.OpenedAt), 0).Seconds())
	}
}

// The causes of retries.
const (
	causeStore    = "unavailable"
	causeProvider = "provider"
	causeFile     = "file"
)

// Trouble counts a delivery that failed.
func (m *Meter) Trouble(err error) {
	cause := causeFile
	switch {
	case away(err):
		cause = causeProvider
	case errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrDiskFull) || errors.Is(err, context.DeadlineExceeded):
		cause = causeStore
	}
	m.retries.WithLabelValues(cause).Inc()
}

// Written takes note of bytes of segments: all that were written, and how many of them were
// in the index before.
func (m *Meter) Written(bytes, again int64) {
	m.segments.WithLabelValues("new").Add(float64(max(bytes-again, 0)))
	m.segments.WithLabelValues("merge").Add(float64(again))
}

// Checked counts a check by the state of its verdict.
func (m *Meter) Checked(state string, took time.Duration) {
	m.checks.WithLabelValues(state).Observe(took.Seconds())
}

func (m *Meter) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.events, m.files, m.units, m.retries, m.seals, m.calls, m.texts, m.segments, m.sealing, m.checks, m.embedding}
}

// Describe implements prometheus.Collector.
func (m *Meter) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(to)
	}
}

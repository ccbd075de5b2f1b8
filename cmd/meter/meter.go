package meter

import (
	"context"
	"errors"
	"time"

	"github.com/freshet/freshet/mcp/exposition"
	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/store"
)

var _ stage.Observer = (*Meter)(nil)

// Meter counts what a process does. Its methods may be called from several goroutines.
type Meter struct {
	events, files, units, retries, seals *exposition.Counter
	calls, texts, segments               *exposition.Counter
	sealing, checks, embedding           *exposition.Histogram
}

// New returns a meter of a process that has done nothing.
func New() *Meter {
	counter := func(name, help string, labels ...string) *exposition.Counter {
		return exposition.NewCounter(exposition.Family{Name: name, Help: help, Labels: labels})
	}
	histogram := func(name, help string, bounds []float64, labels ...string) *exposition.Histogram {
		return exposition.NewHistogram(exposition.Family{Name: name, Help: help, Labels: labels}, bounds)
	}
	m := &Meter{
		events:    counter("freshet_stage_events_total", "Events that a stage finished.", "stage"),
		files:     counter("freshet_stage_files_total", "Files that a stage finished: made, or reused because the store had the result.", "stage", "result"),
		units:     counter("freshet_stage_units_total", "Chunks and vectors that were made.", "stage"),
		retries:   counter("freshet_retries_total", "Deliveries that failed and come again, by cause.", "cause"),
		seals:     counter("freshet_seals_total", "Snapshots that were sealed, by level.", "level"),
		calls:     counter("freshet_provider_calls_total", "Calls of the embedding provider, by outcome.", "outcome"),
		texts:     counter("freshet_provider_texts_total", "Texts that the embedding provider was sent."),
		segments:  counter("freshet_segment_bytes_total", "Bytes of segments that were written: for new, or again by a merge.", "cause"),
		sealing:   histogram("freshet_seal_seconds", "Time from the opening of a snapshot to its seal.", exposition.Minutes(), "level"),
		checks:    histogram("freshet_check_seconds", "Time of a check of a tree, without the wait for what it found.", exposition.Seconds(), "state"),
		embedding: histogram("freshet_provider_seconds", "Time of a call of the embedding provider.", exposition.Seconds()),
	}
	for _, s := range []store.Stage{store.StageChunk, store.StageEmbed} {
		m.Processed("", 0, s, 0, 0, 0)
	}
	m.Written(0, 0)
	for _, cause := range []string{causeStore, causeProvider, causeFile} {
		m.retries.Add(0, cause)
	}
	return m
}

// Processed takes note of files that a stage finished.
func (m *Meter) Processed(id store.CodebaseID, _ uint64, s store.Stage, done, reused, units int) {
	if id != "" {
		m.events.Add(1, string(s))
	} else {
		m.events.Add(0, string(s))
	}
	m.files.Add(float64(done), string(s), "made")
	m.files.Add(float64(reused), string(s), "reused")
	m.units.Add(float64(units), string(s))
}

// Sealed takes note of a seal.
func (m *Meter) Sealed(s store.Snapshot) {
	m.seals.Add(1, s.Level.String())
	if !s.SealedAt.IsZero() && !s.OpenedAt.IsZero() {
		m.sealing.Observe(max(s.SealedAt.Sub(s.OpenedAt), 0).Seconds(), s.Level.String())
	}
}

// The causes of retries.
const (
	causeStore    = "unavailable"
	causeProvider = "provider"
	causeFile     = "file"
)

// Trouble takes note of a delivery that failed.
func (m *Meter) Trouble(err error) {
	cause := causeFile
	switch {
	case away(err):
		cause = causeProvider
	case errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrDiskFull) || errors.Is(err, context.DeadlineExceeded):
		cause = causeStore
	}
	m.retries.Add(1, cause)
}

// Written takes note of bytes of segments: all that were written, and how many of them were
// in the index before.
func (m *Meter) Written(bytes, again int64) {
	m.segments.Add(float64(max(bytes-again, 0)), "new")
	m.segments.Add(float64(again), "merge")
}

// Checked takes note of a check that ended with a verdict's state.
func (m *Meter) Checked(state string, took time.Duration) { m.checks.Observe(took.Seconds(), state) }

// Write adds what was counted to a page.
func (m *Meter) Write(p *exposition.Page) {
	p.Counters(m.events, m.files, m.units, m.retries, m.seals, m.calls, m.texts, m.segments)
	p.Histograms(m.sealing, m.checks, m.embedding)
}

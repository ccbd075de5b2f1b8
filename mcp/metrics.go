package mcpserver

import (
	"time"

	"github.com/freshet/freshet/mcp/exposition"
)

// metrics counts what the server did. Labels come from fixed sets, so that their number
// does not grow with what clients send.
type metrics struct {
	calls, answers, refused *exposition.Counter
	seconds                 *exposition.Histogram
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *exposition.Counter {
		return exposition.NewCounter(exposition.Family{Name: name, Help: help, Labels: labels})
	}
	return &metrics{
		calls:   counter("freshet_calls_total", "Calls of tools, by outcome.", "tool", "outcome"),
		answers: counter("freshet_answers_total", "Answers, by what they say of freshness.", "freshness"),
		refused: counter("freshet_refused_total", "HTTP requests turned away, by reason.", "reason"),
		seconds: exposition.NewHistogram(exposition.Family{
			Name: "freshet_call_seconds", Help: "Latency of calls.", Labels: []string{"tool"},
		}, exposition.Seconds()),
	}
}

// observe counts a call.
func (m *metrics) observe(line record, took time.Duration) {
	outcome := "ok"
	if line.Error != "" {
		outcome = string(line.Error)
	}
	m.calls.Add(1, line.Tool, outcome)
	m.seconds.Observe(took.Seconds(), line.Tool)
	if line.Freshness != "" {
		m.answers.Add(1, line.Freshness)
	}
}

// refuse counts a request that was turned away before it was read.
func (m *metrics) refuse(reason string) { m.refused.Add(1, reason) }

// write adds the metrics to a page.
func (m *metrics) write(p *exposition.Page, inFlight int, uptime time.Duration) {
	p.Counters(m.calls)
	p.Histograms(m.seconds)
	p.Counters(m.answers, m.refused)
	p.Gauge(exposition.Family{Name: "freshet_calls_in_flight", Help: "Calls under way."}, exposition.Sample{Value: float64(inFlight)})
	p.Gauge(exposition.Family{Name: "freshet_uptime_seconds", Help: "Time since the start."}, exposition.Sample{Value: float64(int64(uptime.Seconds()))})
}

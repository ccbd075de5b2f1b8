package mcpserver

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

// metrics are the server's Prometheus metrics. Label values come from fixed sets, so that
// clients cannot raise the cardinality.
type metrics struct {
	calls, answers, refused *prometheus.CounterVec
	seconds                 *prometheus.HistogramVec
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		calls:   counter("freshet_calls_total", "Calls of tools, by outcome.", "tool", "outcome"),
		answers: counter("freshet_answers_total", "Answers, by what they say of freshness.", "freshness"),
		refused: counter("freshet_refused_total", "HTTP requests turned away, by reason.", "reason"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freshet_call_seconds", Help: "Latency of calls.", Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30},
		}, []string{"tool"}),
	}
	// Exported as 0 from the start, so that alerts on them can be written and tested.
	for _, t := range tool.Tools() {
		m.calls.WithLabelValues(t.Name, "ok")
		m.seconds.WithLabelValues(t.Name)
	}
	for _, state := range []search.Freshness{search.Current, search.CaughtUp, search.Behind, search.Unchecked, search.Unknown} {
		m.answers.WithLabelValues(string(state))
	}
	m.refused.WithLabelValues("token")
	return m
}

// observe counts a call.
func (m *metrics) observe(line record, took time.Duration) {
	outcome := "ok"
	if line.Error != "" {
		outcome = string(line.Error)
	}
	m.calls.WithLabelValues(line.Tool, outcome).Inc()
	m.seconds.WithLabelValues(line.Tool).Observe(took.Seconds())
	if line.Freshness != "" {
		m.answers.WithLabelValues(line.Freshness).Inc()
	}
}

// refuse counts a request that was refused before it was read.
func (m *metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }

// collectors returns the collectors of a server that was started at a time.
func (s *Server) collectors(started time.Time) []prometheus.Collector {
	all := []prometheus.Collector{
		s.metrics.calls, s.metrics.seconds, s.metrics.answers, s.metrics.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "freshet_calls_in_flight", Help: "Calls under way."},
			func() float64 { return float64(s.limit.inFlight()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "freshet_uptime_seconds", Help: "Time since the start."},
			func() float64 { return float64(int64(s.opts.Now().Sub(started).Seconds())) }),
	}
	if s.opts.Metrics != nil {
		all = append(all, s.opts.Metrics)
	}
	return all
}

// MetricsHandler serves collectors in the exposition formats of Prometheus, with those of the
// process, the Go runtime and the build. It panics when two collectors share a name.
func MetricsHandler(all ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(), collectors.NewBuildInfoCollector())
	registry.MustRegister(all...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

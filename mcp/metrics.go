package mcpserver

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// metrics counts what the server did. Labels come from fixed sets, so that their number
// does not grow with what clients send.
type metrics struct {
	mu        sync.Mutex // guards what follows
	calls     map[callKey]int
	buckets   map[string][]int // by tool, as many as latencyBounds
	seconds   map[string]float64
	freshness map[string]int
	refused   map[string]int
}

type callKey struct{ tool, outcome string }

// latencyBounds are the upper bounds of the buckets of latency, in seconds.
func latencyBounds() []float64 { return []float64{.005, .01, .03, .1, .3, 1, 3, 10} }

func newMetrics() *metrics {
	return &metrics{
		calls: map[callKey]int{}, buckets: map[string][]int{}, seconds: map[string]float64{},
		freshness: map[string]int{}, refused: map[string]int{},
	}
}

// observe counts a call.
func (m *metrics) observe(line record, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcome := "ok"
	if line.Error != "" {
		outcome = string(line.Error)
	}
	m.calls[callKey{line.Tool, outcome}]++
	m.seconds[line.Tool] += took.Seconds()
	if line.Freshness != "" {
		m.freshness[line.Freshness]++
	}
	bounds := latencyBounds()
	if m.buckets[line.Tool] == nil {
		m.buckets[line.Tool] = make([]int, len(bounds))
	}
	for i, bound := range bounds {
		if took.Seconds() <= bound {
			m.buckets[line.Tool][i]++
		}
	}
}

// refuse counts a request that was turned away before it was read.
func (m *metrics) refuse(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused[reason]++
}

// write writes the metrics in the text format of Prometheus.
func (m *metrics) write(w io.Writer, inFlight int, uptime time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := printer{w: w}
	p.printf("# HELP freshet_calls_total Calls of tools, by outcome.\n# TYPE freshet_calls_total counter\n")
	for _, key := range slices.SortedFunc(maps.Keys(m.calls), func(a, b callKey) int {
		return cmpStrings(a.tool, b.tool, a.outcome, b.outcome)
	}) {
		p.printf("freshet_calls_total{tool=%q,outcome=%q} %d\n", key.tool, key.outcome, m.calls[key])
	}
	p.printf("# HELP freshet_call_seconds Latency of calls.\n# TYPE freshet_call_seconds histogram\n")
	for _, name := range slices.Sorted(maps.Keys(m.buckets)) {
		count := 0
		for key, n := range m.calls {
			if key.tool == name {
				count += n
			}
		}
		for i, bound := range latencyBounds() {
			p.printf("freshet_call_seconds_bucket{tool=%q,le=\"%g\"} %d\n", name, bound, m.buckets[name][i])
		}
		p.printf("freshet_call_seconds_bucket{tool=%q,le=\"+Inf\"} %d\n", name, count)
		p.printf("freshet_call_seconds_sum{tool=%q} %g\nfreshet_call_seconds_count{tool=%q} %d\n", name, m.seconds[name], name, count)
	}
	p.counters("freshet_answers_total", "Answers, by what they say of freshness.", "freshness", m.freshness)
	p.counters("freshet_refused_total", "HTTP requests turned away, by reason.", "reason", m.refused)
	p.printf("# HELP freshet_calls_in_flight Calls under way.\n# TYPE freshet_calls_in_flight gauge\nfreshet_calls_in_flight %d\n", inFlight)
	p.printf("# HELP freshet_uptime_seconds Time since the start.\n# TYPE freshet_uptime_seconds gauge\nfreshet_uptime_seconds %.0f\n", uptime.Seconds())
	return p.err
}

func cmpStrings(a, b, then, than string) int {
	if a != b {
		then, than = a, b
	}
	switch {
	case then < than:
		return -1
	case then > than:
		return 1
	}
	return 0
}

// printer prints until the first error, which it keeps.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) counters(name, help, label string, values map[string]int) {
	p.printf("# HELP %s %s\n# TYPE %s counter\n", name, help, name)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p.printf("%s{%s=%q} %d\n", name, label, key, values[key])
	}
}

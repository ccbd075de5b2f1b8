package host

import "github.com/prometheus/client_golang/prometheus"

var hostDesc = prometheus.NewDesc("freshet_host", "Whether this process is the host of its data directory.", nil, nil)

var _ prometheus.Collector = (*Session)(nil)

// Describe implements prometheus.Collector. What is collected depends on whether the session
// is the host.
func (s *Session) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector: what the host did that this session is, and how
// far behind its codebases are. A session that is attached to another process says only
// that: the host serves its own.
func (s *Session) Collect(to chan<- prometheus.Metric) {
	host, err := s.hosting()
	is := 0.0
	if host != nil && err == nil {
		is = 1
	}
	to <- prometheus.MustNewConstMetric(hostDesc, prometheus.GaugeValue, is)
	if is == 1 {
		host.meter.Collect(to)
		host.standing.Collect(to)
	}
}

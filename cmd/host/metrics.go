package host

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/store"
)

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

// observers tells several what a stage did.
type observers []stage.Observer

// Processed tells each.
func (o observers) Processed(id store.CodebaseID, snapshot uint64, s store.Stage, done, reused, units int) {
	for _, one := range o {
		one.Processed(id, snapshot, s, done, reused, units)
	}
}

// metered has the meter count what the parts do, beside whoever is told of it already.
func (h *Host) metered(p pipeline.Parts) pipeline.Parts {
	told := observers{h.meter}
	if p.Observer != nil {
		told = append(told, p.Observer)
	}
	p.Observer, p.Provider = told, h.meter.Provider(p.Provider)
	p.OnWritten = h.meter.Written
	sealed, trouble := p.OnSealed, p.OnTrouble
	p.OnSealed = func(s store.Snapshot) {
		h.meter.Sealed(s)
		sealed(s)
	}
	p.OnTrouble = func(err error) {
		h.meter.Trouble(err)
		trouble(err)
	}
	return p
}

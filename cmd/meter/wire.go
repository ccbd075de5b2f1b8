package meter

import (
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/store"
)

// observers tells several what a stage did.
type observers []stage.Observer

// Processed tells each.
func (o observers) Processed(id store.CodebaseID, snapshot uint64, s store.Stage, done, reused, units int) {
	for _, one := range o {
		one.Processed(id, snapshot, s, done, reused, units)
	}
}

// Wire has the meter count what the parts of a pipeline do, beside whoever is told of it
// already.
func (m *Meter) Wire(p pipeline.Parts) pipeline.Parts {
	told := observers{m}
	if p.Observer != nil {
		told = append(told, p.Observer)
	}
	p.Observer, p.Provider, p.OnWritten = told, m.Provider(p.Provider), m.Written
	sealed, trouble := p.OnSealed, p.OnTrouble
	p.OnSealed = func(s store.Snapshot) {
		m.Sealed(s)
		if sealed != nil {
			sealed(s)
		}
	}
	p.OnTrouble = func(err error) {
		m.Trouble(err)
		if trouble != nil {
			trouble(err)
		}
	}
	return p
}

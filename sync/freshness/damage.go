package freshness

import (
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
)

// Damage remembers the damage of the store that workers met. The zero value is ready, and all
// methods may be called from several goroutines.
type Damage struct {
	mu    sync.Mutex // guards what follows
	count int
	last  error
	at    time.Time
}

// Met takes note of damage.
func (d *Damage) Met(err error, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count, d.last, d.at = d.count+1, err, at
}

// Count returns how often damage was met, and the last of it.
func (d *Damage) Count() (met int, last error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count, d.last
}

// damageMemory is how long ago workers met damage that they may meet again: a delivery that
// failed comes again within bus.MaxDelay.
const damageMemory = 2 * bus.MaxDelay

// Recent returns the damage that workers met of late, for which what changed may not become
// searchable, or nil.
func (d *Damage) Recent(now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil || now.Sub(d.at) > damageMemory {
		return nil
	}
	return d.last
}

package tool

import "time"

// WatchReport says how the host hears of changes. With a live watcher a check costs what
// changed; otherwise it is a stat proof of the whole tree, and proves the same.
type WatchReport struct {
	// State is off, starting, live or degraded.
	State string `json:"state"`
	// Reason says why the watcher is off or degraded.
	Reason string `json:"reason,omitempty"`
	// Watches is the number of directories watched.
	Watches int `json:"watches"`
	// Since is when the state was reached.
	Since time.Time `json:"since,omitzero"`
	// Missed counts changes that only an audit found.
	Missed int `json:"missed,omitempty"`
}

// line is the report for people.
func (w WatchReport) line() string {
	line := w.State
	if w.Watches > 0 {
		line += ", directories watched: " + grouped(w.Watches)
	}
	if w.Missed > 0 {
		line += ", " + plural(w.Missed, "change") + " found by audits only"
	}
	if w.Reason != "" {
		line += ": " + oneLine(w.Reason)
	}
	return line
}

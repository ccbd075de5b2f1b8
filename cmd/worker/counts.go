package worker

import (
	"fmt"
	"strings"
	"sync"

	"github.com/freshet/freshet/store"
)

// counts is what a worker did since it began, for Prometheus. Labels come from fixed sets.
type counts struct {
	mu       sync.Mutex // guards all below
	stages   map[store.Stage]*stageCounts
	seals    int
	troubles int
}

type stageCounts struct{ events, done, reused, units int }

func newCounts() *counts {
	return &counts{stages: map[store.Stage]*stageCounts{store.StageChunk: {}, store.StageEmbed: {}}}
}

// Processed takes note of files that a stage finished.
func (c *counts) Processed(_ store.CodebaseID, _ uint64, stage store.Stage, done, reused, units int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stages[stage]
	s.events++
	s.done += done
	s.reused += reused
	s.units += units
}

func (c *counts) sealed(store.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seals++
}

func (c *counts) trouble(error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.troubles++
}

// text is the counts as Prometheus reads them.
func (c *counts) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	counter := func(name, help string, value func(*stageCounts) int) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s counter\n", name, help, name)
		for _, stage := range []store.Stage{store.StageChunk, store.StageEmbed} {
			fmt.Fprintf(&b, "%s{stage=%q} %d\n", name, stage, value(c.stages[stage]))
		}
	}
	counter("freshet_worker_events_total", "Events that were finished.", func(s *stageCounts) int { return s.events })
	counter("freshet_worker_files_total", "Files that were worked on.", func(s *stageCounts) int { return s.done })
	counter("freshet_worker_reused_files_total", "Files whose result the store had.", func(s *stageCounts) int { return s.reused })
	counter("freshet_worker_units_total", "Chunks and vectors that were made.", func(s *stageCounts) int { return s.units })
	fmt.Fprintf(&b, "# HELP freshet_worker_seals_total Snapshots that were sealed.\n# TYPE freshet_worker_seals_total counter\n"+
		"freshet_worker_seals_total %d\n", c.seals)
	fmt.Fprintf(&b, "# HELP freshet_worker_troubles_total Deliveries that failed and come again.\n# TYPE freshet_worker_troubles_total counter\n"+
		"freshet_worker_troubles_total %d\n", c.troubles)
	return b.String()
}

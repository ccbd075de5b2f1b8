package memstore

import (
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
)

// Clone returns a store that holds what this one holds now, as a copy of its files would.
// The two share nothing that changes.
func (s *Store) Clone() *Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.clone()
}

func (s *Store) clone() *Store {
	out := &Store{
		now: s.now, epoch: s.epoch, closed: s.closed,
		codebases: make(map[store.CodebaseID]*codebase, len(s.codebases)),
		recipes:   maps.Clone(s.recipes), contents: maps.Clone(s.contents),
		syntaxes: maps.Clone(s.syntaxes), vectors: maps.Clone(s.vectors), embedded: maps.Clone(s.embedded),
		segments: make(map[store.SegmentID]*segment, len(s.segments)), lastSegment: s.lastSegment,
		outbox: slices.Clone(s.outbox), position: s.position,
		sessions: maps.Clone(s.sessions), leases: maps.Clone(s.leases),
	}
	for id, c := range s.codebases {
		out.codebases[id] = c.clone()
	}
	for id, g := range s.segments {
		twin := *g
		twin.dead = maps.Clone(g.dead)
		out.segments[id] = &twin
	}
	return out
}

func (c *codebase) clone() *codebase {
	out := &codebase{
		Codebase: c.Codebase, snapshots: make(map[uint64]*snapshot, len(c.snapshots)),
		stats: maps.Clone(c.stats), failures: maps.Clone(c.failures),
	}
	for number, n := range c.snapshots {
		twin := *n // its manifest never changes
		out.snapshots[number] = &twin
	}
	return out
}

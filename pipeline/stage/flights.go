package stage

import (
	"sync"

	"github.com/freshet/freshet/sync/merkle"
)

// flights shares the texts that are being embedded between the deliveries of a process
// (singleflight, by text hash): a text that stands in several events, files or codebases is
// sent once. The zero value works.
type flights struct {
	mu    sync.Mutex // guards what follows
	held  map[merkle.Hash]chan struct{}
	ended uint64 // flights
}

// count returns how many flights have ended. Whoever read the store before a flight ended does
// not know its vector.
func (f *flights) count() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// board takes those texts that nobody embeds, and returns the others with the ends of their
// flights. land must be called for what was taken.
func (f *flights) board(texts []text) (taken []text, others map[text]<-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = map[merkle.Hash]chan struct{}{}
	}
	others = map[text]<-chan struct{}{}
	end := make(chan struct{})
	for _, t := range texts {
		if other, busy := f.held[t.hash]; busy {
			others[t] = other
			continue
		}
		f.held[t.hash] = end
		taken = append(taken, t)
	}
	return taken, others
}

// land ends the flight of texts: each has a vector in the store by now, or is free to be taken.
func (f *flights) land(texts []text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(texts) == 0 {
		return
	}
	f.ended++
	for i, t := range texts {
		if i == 0 {
			close(f.held[t.hash])
		}
		delete(f.held, t.hash)
	}
}

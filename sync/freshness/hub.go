package freshness

import (
	"sync"

	"github.com/freshet/freshet/store"
)

// Hub is a condition variable for each codebase: it wakes those who wait for something about
// a codebase to change. It carries no facts: whoever is woken reads them where they are kept.
// The zero value is ready, and all methods may be called from several goroutines.
type Hub struct {
	mu      sync.Mutex // guards waiting
	waiting map[store.CodebaseID]chan struct{}
}

// Changed returns a channel that is closed by the next Notify. Take it before reading the
// facts, or a change in between is missed.
func (h *Hub) Changed(id store.CodebaseID) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch, ok := h.waiting[id]
	if !ok {
		ch = make(chan struct{})
		if h.waiting == nil {
			h.waiting = map[store.CodebaseID]chan struct{}{}
		}
		h.waiting[id] = ch
	}
	return ch
}

// Notify wakes those who wait for a codebase.
func (h *Hub) Notify(id store.CodebaseID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch, ok := h.waiting[id]; ok {
		close(ch)
		delete(h.waiting, id)
	}
}

// NotifyAll wakes everybody, so that nobody depends on hearing of what happened elsewhere.
func (h *Hub) NotifyAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.waiting {
		close(ch)
	}
	clear(h.waiting)
}

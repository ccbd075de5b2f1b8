package host

import (
	"sync"

	"github.com/freshet/freshet/store"
)

// hub tells those who wait that something about a codebase changed. It carries no facts:
// whoever is woken reads them where they are kept.
type hub struct {
	mu      sync.Mutex // guards waiting
	waiting map[store.CodebaseID]chan struct{}
}

func newHub() *hub { return &hub{waiting: map[store.CodebaseID]chan struct{}{}} }

// changed returns a channel that is closed by the next notify. Take it before reading the
// facts, or a change in between is missed.
func (h *hub) changed(id store.CodebaseID) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch, ok := h.waiting[id]
	if !ok {
		ch = make(chan struct{})
		h.waiting[id] = ch
	}
	return ch
}

// nudge wakes everybody, so that nobody depends on hearing of what happened elsewhere.
func (h *hub) nudge() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.waiting {
		close(ch)
	}
	clear(h.waiting)
}

func (h *hub) notify(id store.CodebaseID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch, ok := h.waiting[id]; ok {
		close(ch)
		delete(h.waiting, id)
	}
}

package host

import (
	"fmt"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// healed is told that the log was begun anew because it was damaged.
func (h *Host) healed(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reset = &tool.LogReset{At: h.opts.Now().UTC().Truncate(time.Second), Reason: reason}
	h.resetTold = map[store.CodebaseID]bool{}
}

// logReset tells when the log was last begun anew in the life of this process.
func (h *Host) logReset() *tool.LogReset {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reset
}

// tellReset returns what the next answer about a codebase has to tell of it, once.
func (h *Host) tellReset(id store.CodebaseID) []search.Warning {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reset == nil || h.resetTold[id] {
		return nil
	}
	h.resetTold[id] = true
	return []search.Warning{{Code: "log_reset", Message: fmt.Sprintf("the event log was damaged (%s) and began anew at %s; nothing is lost: "+
		"what is indexed is in the store, and the rest is made work again", h.reset.Reason, h.reset.At.Format(time.RFC3339))}}
}

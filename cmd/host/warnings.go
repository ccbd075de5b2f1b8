package host

import (
	"fmt"
	"slices"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// warnings are what an answer about a codebase has to tell beside its verdict.
func (h *Host) warnings(id store.CodebaseID, state search.Freshness) []search.Warning {
	all := slices.Concat(h.tellReset(id), h.away(), h.losing())
	if state == search.Behind {
		all = slices.Concat(all, h.unpublished(), h.limits(), h.hindered())
	}
	return all
}

// hindered warns of damage that workers met of late.
func (h *Host) hindered() []search.Warning {
	err := h.damage.Recent(h.opts.Now())
	if err == nil {
		return nil
	}
	return []search.Warning{{Code: "index_damaged", Message: fmt.Sprintf("what changed may not become searchable, because the index is damaged: %v", err)}}
}

// away warns when the shared store cannot be reached, and what is served was read before.
func (h *Host) away() []search.Warning {
	if h.standby == nil {
		return nil
	}
	since, gone := h.standby.Away()
	if !gone {
		return nil
	}
	return []search.Warning{{Code: "store_away", Message: fmt.Sprintf("the store cannot be reached since %s (%s): "+
		"this is what was read of it before, and what others indexed since is not known; `freshet doctor` looks for the cause",
		since.UTC().Format(time.RFC3339), h.opts.Now().Sub(since).Round(time.Second))}}
}

// isAway reports whether the shared store cannot be reached.
func (h *Host) isAway() bool {
	if h.standby == nil {
		return false
	}
	_, gone := h.standby.Away()
	return gone
}

// logPatience is how long the log may take for events before readers who wait for their
// outcome are told.
const logPatience = time.Second

// unpublished warns when the log does not take what was committed.
func (h *Host) unpublished() []search.Warning {
	since, cause, waits := h.pipeline.Outbox.Waiting()
	took := time.Since(since)
	if err := h.bus.Connection(); err != nil && !waits { // another process published it
		return []search.Warning{{Code: "log_away", Message: fmt.Sprintf("the event log cannot be used from here (%v): what changed is committed and is "+
			"indexed when the log is back; `freshet doctor` looks for the cause", err)}}
	}
	if !waits || took < logPatience {
		return nil
	}
	why := "it does not answer"
	if cause != nil {
		why = datadir.AdviseRoom(h.opts.Home, cause).Error()
	}
	return []search.Warning{{Code: "log_away", Message: fmt.Sprintf("the event log has taken no events for %s (%s): "+
		"what changed is committed and is indexed when the log is back; `freshet doctor` looks for the cause, a full disk of a server is one",
		took.Round(time.Second), why)}}
}

// limits warns that the vectors of what is behind wait for the provider.
func (h *Host) limits() []search.Warning {
	waits := h.providerWaits()
	if waits == "" {
		return nil
	}
	return []search.Warning{{Code: "provider_waits", Message: "embedding is " + waits + "; what is embedded already is kept, and the rest follows by itself"}}
}

// providerWaits says for how long no text is sent to the embedding provider, and why; "" when
// texts are sent.
func (h *Host) providerWaits() string {
	w, ok := h.provider.(embedding.Waiter)
	if !ok {
		return ""
	}
	wait, why := w.Waiting()
	if wait <= 0 {
		return ""
	}
	return fmt.Sprintf("waiting %v for the embedding provider: %s", max(wait.Round(time.Second), time.Second), why)
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

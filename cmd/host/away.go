package host

import (
	"fmt"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/store/search"
)

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

package host

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store/search"
)

// presenceEvery is how often a host looks whether its lock file and its socket are still there.
const presenceEvery = time.Second

// stay makes the lock file and the socket again when somebody removes or replaces them, until
// ctx ends, so that other processes go on to find this host, and no second one begins. It
// returns nil then.
func (h *Host) stay(ctx context.Context) error {
	ticker := time.NewTicker(presenceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		restored, err := h.lock.Restore()
		if restored {
			h.opts.Log.Warn("lock file was removed and is made again", "home", h.opts.Home)
		}
		if err == nil {
			restored, err = h.server.Restore(ctx)
			if restored {
				h.opts.Log.Warn("socket was removed and is made again", "home", h.opts.Home)
			}
		}
		if err != nil {
			h.opts.Log.Warn("lock file or socket cannot be made again", "home", h.opts.Home, "error", err)
		}
	}
}

// losing warns when the database was removed or replaced under the host, which serves from
// what it has open.
func (h *Host) losing() []search.Warning {
	local, ok := h.store.(interface{ CheckPresence() error })
	if !ok {
		return nil
	}
	err := local.CheckPresence()
	if err == nil {
		return nil
	}
	return []search.Warning{{Code: "store_removed", Message: fmt.Sprintf("%v; what is indexed is served from the open file, is lost when the host ends, "+
		"and is written to disk again by that", err)}}
}

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/freshet/freshet/cmd/operation"
	"github.com/freshet/freshet/cmd/salvage"
	"github.com/freshet/freshet/cmd/scratch"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
)

// repair makes anew what differs from a clean rebuild of the tree, and the whole store when
// it is damaged.
func (h *Host) repair(ctx context.Context, id store.CodebaseID) error {
	err := h.verifier.Intact(ctx)
	if err == nil {
		_, err = h.verifier.Verify(ctx, id, true)
	}
	if store.IsDamage(err) && !h.shared() {
		return h.makeAnew(ctx, func(tool.Notice) error { return nil })
	}
	if err != nil {
		return err
	}
	return h.tidy(ctx)
}

// errAgain is returned when a store is damaged soon after it was made anew.
var errAgain = errors.New("the store was damaged again soon after it was made anew: look for a failing disk or memory (`dmesg`), " +
	"or choose another --home")

// againWithin is the time after which damage to a store that was made anew has nothing to do
// with that.
const againWithin = time.Minute

// makeAnew builds a store beside the damaged one, which serves meanwhile what it can, and
// fills it from the files on disk and what can be salvaged. Then it has the session put the
// new store in the place of the other, and the caller make its call again. It says every
// few seconds what it waits for; a caller that hangs up stops it, and nothing has changed.
func (h *Host) makeAnew(ctx context.Context, observe tool.Observer) (err error) {
	if h.opts.replaced.After(h.opts.Now().Add(-againWithin)) {
		return errAgain
	}
	h.building.Lock()
	defer h.building.Unlock()
	if h.retiring() {
		return nil
	}
	stop := operation.Tell(ctx, observe, "a new store is being built beside the damaged one, which serves what it can meanwhile; interrupting this changes nothing")
	defer stop()
	fresh, err := salvage.New(ctx, h.opts.salvage(), h.store)
	if err != nil {
		return fmt.Errorf("make the store anew: %w", err)
	}
	if err := salvage.Fill(ctx, h.workCtx, fresh, h.here, h.scratch()); err != nil {
		return errors.Join(fmt.Errorf("make the store anew: %w", err), os.RemoveAll(fresh.Dir()))
	}
	h.mu.Lock()
	h.successor = fresh.Dir()
	h.mu.Unlock()
	if h.opts.onSuccessor != nil {
		h.opts.onSuccessor(h)
	}
	return nil
}

// scratch is what an index beside the live one shares with it.
func (h *Host) scratch() scratch.Parts {
	return scratch.Parts{Dir: h.opts.Home, Recipe: h.recipe, Provider: h.provider, Live: h.store, Pool: h.pool, Log: h.opts.Log}
}

// retiring reports whether another store waits to take the place of this host's, and so
// another host the place of this one.
func (h *Host) retiring() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.successor != ""
}

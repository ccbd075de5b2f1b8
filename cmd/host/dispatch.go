package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/meter"
	"github.com/freshet/freshet/cmd/operation"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/integrity"
)

// dispatchLocal is dispatch for the session that this host is. Close waits for it.
func (h *Host) dispatchLocal(ctx context.Context, verb string, params json.RawMessage, observe tool.Observer) *tool.Envelope {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.local.Add(1)
	h.mu.Unlock()
	defer h.local.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.workCtx, cancel)()
	return h.dispatch(ctx, verb, params, observe)
}

// dispatch answers one call, with nil when the host that takes the place of this one is to
// answer it. A repair that meets damage makes the store anew.
func (h *Host) dispatch(ctx context.Context, verb string, params json.RawMessage, observe tool.Observer) *tool.Envelope {
	if h.retiring() {
		return nil
	}
	envelope := h.answer(ctx, verb, params, observe)
	if h.retiring() {
		return nil
	}
	if e := envelope.Error; e != nil && errors.Is(e, store.ErrNotFound) && !h.shared() {
		if id, err := integrity.Contradicts(ctx, h.store); err != nil {
			envelope = tool.Failed(tool.AsError(advice.Damage(id, err)))
		}
	}
	if envelope.Error == nil || !store.IsDamage(envelope.Error) || h.shared() || !repairs(verb, params) {
		return envelope
	}
	if err := h.makeAnew(ctx, observe); err != nil {
		return tool.Failed(tool.AsError(err))
	}
	return nil
}

// answer answers one call. An error of our own is logged under the id that it carries.
func (h *Host) answer(ctx context.Context, verb string, params json.RawMessage, observe tool.Observer) *tool.Envelope {
	if verb == verbReady {
		return h.answerReady(ctx)
	}
	if verb == "verify" {
		defer operation.Tell(ctx, observe, "the index is brought up to the tree and compared with a clean rebuild; interrupting this changes nothing")()
	}
	if verb == "verify" { // first: over damage nothing may be sealed that could be waited for
		if err := h.verifier.Intact(ctx); err != nil {
			return tool.Failed(tool.AsError(advice.Damage("", err)))
		}
	}
	envelope := tool.Dispatch(ctx, &h.backend, verb, params, observe)
	if e := envelope.Error; e != nil && e.Code == tool.CodeInternal {
		h.opts.Log.Error("call failed by an internal error", "verb", verb, "trace", e.Details["trace_id"], "error", e.Message)
	}
	return envelope
}

// verbReady asks a host whether its log and its store answer. It is for sessions only.
const verbReady = "ready"

// answerReady answers verbReady.
func (h *Host) answerReady(ctx context.Context) *tool.Envelope {
	err := h.standing.Ready(ctx)
	switch {
	case errors.Is(err, meter.ErrStoreAway):
		return tool.Failed(tool.Errorf(tool.CodeStoreUnavailable, "%w", err))
	case err != nil:
		return tool.Failed(tool.Errorf(tool.CodeBusUnavailable, "%w", err))
	}
	return tool.Succeeded(tool.Report{})
}

// repairs reports whether a call asks for damage to be repaired.
func repairs(verb string, params json.RawMessage) bool {
	var p tool.VerifyParams
	return verb == "verify" && json.Unmarshal(params, &p) == nil && p.Repair
}

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// do executes one operation. An error is a violation of what must hold.
func (w *world) do(ctx context.Context, o Operation) error {
	time.Sleep(o.Wait)
	switch o.Kind {
	case Write:
		return w.tree.write(o.Path, text(o.N))
	case Flicker:
		return w.flicker(ctx, o)
	case Remove:
		return w.tree.remove(o.Path)
	case Rename:
		return w.tree.rename(o.Path, o.To)
	case Ignore:
		return w.tree.ignore()
	case Unreadable:
		if _, ok := w.tree.files[o.Path]; !ok {
			return nil
		}
		return errors.Join(w.tree.write(o.Path, text(o.N)), w.tree.lock(o.Path))
	case Readable:
		w.tree.unlock()
		return nil
	case Search:
		return w.search(ctx)
	case Recipe:
		w.recipe = o.N
		return w.kill()
	case Kill:
		return w.kill()
	case Crash:
		if w.host == nil || w.host.dead() {
			w.arming, w.armed = true, o
			return nil
		}
		w.host.arm(o.N/2, o.N%2 == 1)
		return nil
	case StoreBack:
		return w.storeBack(o.N)
	}
	return w.disturb(ctx, o)
}

// disturb executes the faults of the log, the provider and the host.
func (w *world) disturb(ctx context.Context, o Operation) error {
	switch o.Kind {
	case LogCopy:
		w.logs = append(w.logs, w.log.Image())
	case LogBack:
		w.log.PutBack(w.logs[max(0, len(w.logs)-1-o.N)])
	case LogCut:
		state, err := w.log.State(ctx)
		if err != nil {
			return err
		}
		w.log.Truncate(state.Last - min(state.Last, uint64(o.N)))
	case LogReset:
		_, err := w.log.Reset(ctx)
		return err
	case Newer:
		return w.publishNewer(ctx)
	case Damage:
		return w.damageOne(ctx, o.N)
	case Suspend:
		if w.host != nil {
			w.host.suspend(time.Duration(o.N) * time.Millisecond)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch d := time.Duration(o.N) * time.Millisecond; o.Kind {
	case Lose:
		w.losing += o.N
	case Repeat:
		w.repeating += o.N
	case Delay:
		w.slow[o.Path] = d
	case Outage:
		w.awayUntil = time.Now().Add(d)
	case Limit:
		w.everyCall = d
	}
	return nil
}

// flicker changes a file on both sides of a check.
func (w *world) flicker(ctx context.Context, o Operation) error {
	if err := w.tree.write(o.Path, text(o.N)); err != nil {
		return err
	}
	host, err := w.running(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	_, _ = host.sync.Check(ctx) // what it says is of the past at once
	return w.tree.write(o.Path, text((o.N+1)%versions))
}

// storeBack puts an older copy of the store in the place of the one that is, while no host
// runs.
func (w *world) storeBack(n int) error {
	if err := w.kill(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copies = w.copies[:max(1, len(w.copies)-n)]
	w.store = w.copies[len(w.copies)-1].Clone()
	return nil
}

// publishNewer publishes an event that this version cannot decode.
func (w *world) publishNewer(ctx context.Context) error {
	w.newer++
	data, err := json.Marshal(map[string]any{
		"version": 99, "type": event.FilesEmbedded, "codebase": codebaseID, "snapshot": 1, "part": w.newer,
	})
	if err != nil {
		return err
	}
	m := bus.Message{Codebase: codebaseID, Lane: bus.LaneEmbed, ID: fmt.Sprintf("newer/%d", w.newer), Data: data}
	_, err = w.log.Publish(ctx, []bus.Message{m}, nil)
	return err
}

// damageOne loses or damages a content that a stage has still to read.
func (w *world) damageOne(ctx context.Context, n int) error {
	codebase, err := w.store.Codebase(ctx, codebaseID)
	if errors.Is(err, store.ErrNotFound) || (err == nil && codebase.Latest == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	pending, err := w.store.Pending(ctx, codebaseID, codebase.Latest, recipeOf(w.recipe))
	if err != nil || len(pending) == 0 {
		return err
	}
	what := store.ErrNotFound
	if n%2 == 1 {
		what = store.ErrCorrupt
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.damaged[pending[n/2%len(pending)].Content] = what
	return nil
}

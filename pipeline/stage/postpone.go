package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// ErrSlowBusy is why a postponed event is handed back: as many as may be are in hand. It is
// nobody's fault.
var ErrSlowBusy = errors.New("other files that take long are being cut")

// slowDelay is how long a postponed event that was handed back waits.
const slowDelay = time.Second

// byKey groups files by their syntax.
func (c *Chunker) byKey(files []event.File) map[store.SyntaxKey]bool {
	keys := make(map[store.SyntaxKey]bool, len(files))
	for _, f := range files {
		keys[c.key(f)] = true
	}
	return keys
}

// postpone has late files cut by events of their own, one for each syntax, and returns the
// other files of the event. The events go through the outbox: whoever compares the log with
// the store must know them.
func (c *Chunker) postpone(ctx context.Context, e event.Event, late []event.File) (ready []event.File, err error) {
	if len(late) == 0 {
		return e.Changed.Files, nil
	}
	groups := map[store.SyntaxKey][]event.File{}
	keys := c.byKey(late)
	for _, f := range e.Changed.Files {
		if key := c.key(f); keys[key] {
			groups[key] = append(groups[key], f)
		} else {
			ready = append(ready, f)
		}
	}
	var out []store.OutboxEvent
	for _, files := range groups {
		next := event.Postponed(e, files)
		data, err := event.Encode(next)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", next.Type, err)
		}
		out = append(out, store.OutboxEvent{Codebase: next.Codebase, Snapshot: next.Snapshot, Part: next.Part, Data: data})
	}
	slices.SortFunc(out, func(a, b store.OutboxEvent) int { return strings.Compare(string(a.Data), string(b.Data)) })
	c.Log.Info("files that take long are postponed", "codebase", e.Codebase, "snapshot", e.Snapshot, "files", len(e.Changed.Files)-len(ready))
	if err := c.Store.PutOutbox(ctx, out); err != nil {
		return nil, outage(err)
	}
	return ready, outage(c.Outbox.Flush(ctx))
}

func (c *Chunker) key(f event.File) store.SyntaxKey {
	return store.SyntaxKey{Content: f.Content, Version: c.Recipe.SyntaxVersion(f.Language)}
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// historian reads the event log.
type historian struct{ *Host }

// Events calls fn for each event of the log from a sequence on.
func (h historian) Events(ctx context.Context, from uint64, follow bool, fn func(tool.LogEvent) error) error {
	give := func(m bus.Stored) error { return fn(logEvent(m)) }
	if !follow {
		return h.bus.Read(ctx, max(from, 1), 0, give)
	}
	return h.bus.Follow(ctx, max(from, 1), give)
}

func logEvent(m bus.Stored) tool.LogEvent {
	e, err := event.Decode(m.Data)
	out := tool.LogEvent{Sequence: m.Sequence, At: m.At, Codebase: m.Codebase, Data: json.RawMessage(m.Data)}
	if err != nil {
		out.Type, out.Summary, out.Data = "unreadable", err.Error(), nil
		return out
	}
	out.Type, out.Snapshot, out.Summary = string(e.Type), e.Snapshot, summary(e)
	return out
}

// summary says in one line what an event says.
func summary(e event.Event) string {
	switch {
	case e.Opened != nil:
		return fmt.Sprintf("root %s, %d changed, %d removed", e.Opened.Root.Short(), e.Opened.Changed, e.Opened.Removed)
	case e.Changed != nil:
		return fmt.Sprintf("%d files: %s", len(e.Changed.Files), firstPaths(e.Changed.Files))
	case e.Removed != nil:
		return fmt.Sprintf("%d files: %s", len(e.Removed.Paths), strings.Join(e.Removed.Paths[:min(3, len(e.Removed.Paths))], ", "))
	case e.Processed != nil:
		return fmt.Sprintf("%d files: %s", len(e.Processed.Files), firstPaths(e.Processed.Files))
	case e.Parked != nil:
		return fmt.Sprintf("%s at %s: %s", e.Parked.Path, e.Parked.Stage, e.Parked.Reason)
	case e.Sealed != nil:
		return fmt.Sprintf("root %s, level %s, %d files", e.Sealed.Root.Short(), e.Sealed.Level, e.Sealed.Files)
	case e.Registered != nil:
		return e.Registered.Root
	case e.Baseline != nil:
		return "the log begins: " + e.Baseline.Reason
	}
	return ""
}

func firstPaths(files []event.File) string {
	var paths []string
	for _, f := range files[:min(3, len(files))] {
		paths = append(paths, f.Path)
	}
	return strings.Join(paths, ", ")
}

// Record writes the retained history of every codebase, and the contents it names, to a
// new file.
func (h historian) Record(ctx context.Context, path string) (recording tool.Recording, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return recording, tool.Invalid("file", merkle.QuotePath(path)+" exists; name a new file")
	}
	if err != nil {
		return recording, adviseFile(path, err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil { // half a history is of no use
			err = errors.Join(err, os.Remove(path))
		}
	}()
	w, err := history.NewWriter(file)
	if err != nil {
		return recording, err
	}
	log, err := h.readLog(ctx, 1, 0)
	if err != nil {
		return recording, err
	}
	if err := history.Record(ctx, h.store, h.recipe, log, w); err != nil {
		return recording, fmt.Errorf("record: %w", err)
	}
	if err := errors.Join(w.Close(), file.Sync()); err != nil {
		return recording, err
	}
	info, err := file.Stat()
	if err != nil {
		return recording, err
	}
	return tool.Recording{File: merkle.QuotePath(path), Events: w.Events, Contents: w.Contents, Masked: w.Masked, Bytes: info.Size()}, nil
}

// readLog decodes the events of a range of the log; unreadable ones are left out, as the
// workers leave them out.
func (h *Host) readLog(ctx context.Context, from, to uint64) ([]event.Event, error) {
	var events []event.Event
	err := h.bus.Read(ctx, max(from, 1), to, func(m bus.Stored) error {
		if e, err := event.Decode(m.Data); err == nil {
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the event log: %w", err)
	}
	return events, nil
}

// replaySource is what a replay reads.
type replaySource struct {
	history.History
	store store.Reader // contents of the live log; nil for a file
}

func (c canonist) source(ctx context.Context, r tool.Replaying) (replaySource, error) {
	if r.File == "" {
		events, err := c.readLog(ctx, r.From, r.To)
		if err != nil {
			return replaySource{}, err
		}
		events, err = history.Complete(ctx, c.store, c.recipe, events, r.From > 1 || r.To > 0)
		return replaySource{history.History{Events: events}, c.store}, err
	}
	file, err := os.Open(r.File)
	if err != nil {
		return replaySource{}, tool.Errorf(tool.CodePathNotFound, "open history: %w", err)
	}
	h, err := history.Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return replaySource{}, tool.Errorf(tool.CodeInvalidArgument, "%s: %w", merkle.QuotePath(r.File), err)
	}
	return replaySource{h, nil}, nil
}

func (s replaySource) content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	if s.store != nil {
		return s.store.Content(ctx, h)
	}
	data, ok := s.Contents[h]
	if !ok {
		return nil, fmt.Errorf("content %s: %w", h.Short(), store.ErrNotFound)
	}
	return data, nil
}

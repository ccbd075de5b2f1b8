// Package eventlog shows the event log to people: its events line by line, those that name a
// path, and the history in a file that can be replayed anywhere.
package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Source is an event log; a natsbus.Bus is one.
type Source interface {
	// Read calls fn for the messages of a range of sequences that are there now; to 0 means
	// the last.
	Read(ctx context.Context, from, to uint64, fn func(bus.Stored) error) error
	// Follow calls fn for each message from a sequence on, until ctx ends.
	Follow(ctx context.Context, from uint64, fn func(bus.Stored) error) error
}

// Log reads an event log, and for a recording the store that the events speak of. All fields
// are required.
type Log struct {
	Source Source
	Store  store.Reader
	Recipe store.Recipe
}

// Events calls fn for each event of the log from a sequence on.
func (l Log) Events(ctx context.Context, from uint64, follow bool, fn func(tool.LogEvent) error) error {
	give := func(m bus.Stored) error { return fn(logEvent(m)) }
	if !follow {
		return l.Source.Read(ctx, max(from, 1), 0, give)
	}
	return l.Source.Follow(ctx, max(from, 1), give)
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
func (l Log) Record(ctx context.Context, path string) (recording tool.Recording, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return recording, tool.Invalid("file", merkle.QuotePath(path)+" exists; name a new file")
	}
	if err != nil {
		return recording, fileError(path, err)
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
	log, err := l.Read(ctx, 1, 0)
	if err != nil {
		return recording, err
	}
	if err := history.Record(ctx, l.Store, l.Recipe, log, w); err != nil {
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

// Read decodes the events of a range of the log; unreadable ones are left out, as the
// workers leave them out.
func (l Log) Read(ctx context.Context, from, to uint64) ([]event.Event, error) {
	var events []event.Event
	err := l.Source.Read(ctx, max(from, 1), to, func(m bus.Stored) error {
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

// fileError says what to do about a file that cannot be made.
func fileError(path string, err error) error {
	dir := merkle.QuotePath(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.CodePathNotFound, "the directory %s does not exist; make it, or name a file in another", dir).
			Detail("directory", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return tool.Errorf(tool.CodePathNotFound, "%s is not a directory; name a file in one", dir).Detail("directory", dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return tool.Errorf(tool.CodePermissionDenied, "no file can be made in %s; give this user the right to write to it, or name a file in another directory", dir).
			Detail("directory", dir)
	}
	return fmt.Errorf("make file: %w", err)
}

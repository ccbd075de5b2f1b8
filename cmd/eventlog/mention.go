package eventlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// Mentions returns the newest events of a codebase that name one of its paths, oldest first,
// at most limit of them. The path is quoted by merkle.QuotePath.
func (l Log) Mentions(ctx context.Context, id store.CodebaseID, path string, limit int) ([]tool.LogEvent, error) {
	found := []tool.LogEvent{}
	err := l.Source.Read(ctx, 1, 0, func(m bus.Stored) error {
		if m.Codebase != id {
			return nil
		}
		e, err := event.Decode(m.Data)
		if err != nil || !names(e, path) {
			return nil
		}
		told := logEvent(m)
		told.Summary = mention(e, path, told.Summary)
		if found = append(found, told); len(found) > limit {
			found = found[1:]
		}
		return nil
	})
	return found, err
}

// mention is the summary of an event for one of the paths that it names.
func mention(e event.Event, path, summary string) string {
	var others int
	switch {
	case e.Changed != nil:
		others = len(e.Changed.Files) - 1
	case e.Processed != nil:
		others = len(e.Processed.Files) - 1
	case e.Removed != nil:
		others = len(e.Removed.Paths) - 1
	default:
		return summary
	}
	return fmt.Sprintf("%s and %d others", path, others)
}

// names reports whether an event names a quoted path.
func names(e event.Event, path string) bool {
	has := func(files []event.File) bool {
		return slices.ContainsFunc(files, func(f event.File) bool { return f.Path == path || f.From == path })
	}
	switch {
	case e.Changed != nil:
		return has(e.Changed.Files)
	case e.Processed != nil:
		return has(e.Processed.Files)
	case e.Removed != nil:
		return slices.Contains(e.Removed.Paths, path)
	case e.Parked != nil:
		return e.Parked.Path == path
	}
	return false
}

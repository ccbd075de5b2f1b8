package tool

import (
	"fmt"
	"time"
)

// EventLine is an event of the log on one line, with its line end.
func EventLine(e LogEvent) string {
	return fmt.Sprintf("%d %s %s %s/%d %s\n", e.Sequence, e.At.UTC().Format(time.RFC3339),
		e.Type, e.Codebase, e.Snapshot, Visible(e.Summary))
}

package apply

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// tornFile is a file whose rows were found to be incomplete while its segment was built,
// though the store had said that they are all there.
type tornFile struct {
	entry  store.FileEntry
	lacks  store.Stage
	reason string
}

// tornError is why segments were not built.
type tornError struct{ files []tornFile }

// Error names the first of the files.
func (e *tornError) Error() string {
	return fmt.Sprintf("rows of %d files are incomplete, of %q the first: %s", len(e.files), e.files[0].entry.Path, e.files[0].reason)
}

// beside reports whether a file is torn that is not among the entries.
func (e *tornError) beside(entries []store.FileEntry) bool {
	own := make(map[string]bool, len(entries))
	for _, f := range entries {
		own[f.Path] = true
	}
	for _, f := range e.files {
		if !own[f.entry.Path] {
			return true
		}
	}
	return false
}

// redo has the work of torn files made again instead of sealing without it. Each time counts
// as a try, so that a file whose rows get lost again and again is parked at last.
func (s *Sealer) redo(ctx context.Context, snapshot store.Snapshot, torn []tornFile) error {
	rule := store.NewRule(s.opts.Recipe, nil)
	var again []store.FileEntry
	var keys []store.SyntaxKey
	for _, f := range torn {
		failure, err := s.store.RecordFailure(ctx, store.Failure{
			Codebase: snapshot.Codebase, Path: f.entry.Path, Content: f.entry.Content, Stage: f.lacks,
			Version: rule.Version(f.entry, f.lacks), Reason: f.reason, At: s.opts.Now(),
		}, false, s.parkedEvent(snapshot))
		if err != nil {
			return outage(err)
		}
		s.opts.Log.Warn("file lost rows before it was sealed", "codebase", snapshot.Codebase, "path", event.FileOf(f.entry).Path,
			"reason", f.reason, "tries", failure.Tries, "parked", failure.Parked)
		if !failure.Parked {
			again, keys = append(again, f.entry), append(keys, rule.Key(f.entry))
		}
	}
	if err := s.store.DropSyntax(ctx, keys); err != nil {
		return outage(err)
	}
	s.track(snapshot.Codebase).forget() // what other deliveries read of the store meanwhile
	return s.again(ctx, snapshot, again)
}

package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/outagecache"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/freshness"
)

// catalog shows the roots of other places with the place before them: their paths are none
// of this host.
type catalog struct {
	store.Reader
	here func(store.Codebase) bool
	away func() bool
}

// Codebases lists all codebases.
func (c catalog) Codebases(ctx context.Context) ([]store.Codebase, error) {
	all, err := c.Reader.Codebases(ctx)
	for i := range all {
		if !c.here(all[i]) {
			all[i].Root = all[i].Place + ":" + all[i].Root
		}
	}
	return all, err
}

// Remembered reports whether the list is as it was before the store went away.
func (c catalog) Remembered() bool { return c.away() }

// sessions reads as everything else is read, and writes to the store, which may be away.
type sessions struct {
	store.Reader
	writer store.Writer
}

// PutSession keeps a session.
func (s sessions) PutSession(ctx context.Context, session store.Session) error {
	if away, ok := s.Reader.(*outagecache.Reader); ok {
		if _, gone := away.Away(); gone {
			return fmt.Errorf("keep the session: %w", store.ErrUnavailable)
		}
	}
	return s.writer.PutSession(ctx, session)
}

// searcher searches with the engine.
type searcher struct {
	engine *search.Engine
	reads  store.Reader
}

// Search answers from one sealed snapshot. When its segments were merged and collected
// since the view was taken, the snapshot has others with the same files: it is read again.
func (s searcher) Search(ctx context.Context, view store.View, q search.Query) (search.Result, error) {
	result, err := s.engine.Search(ctx, view, q)
	if !errors.Is(err, store.ErrNotFound) {
		return result, advice.Damage(view.Snapshot.Codebase, err)
	}
	view, verr := s.reads.View(ctx, view.Snapshot.Codebase, view.Snapshot.Number)
	if verr != nil {
		return result, errors.Join(err, verr)
	}
	result, err = s.engine.Search(ctx, view, q)
	return result, advice.Damage(view.Snapshot.Codebase, err)
}

// checks gives readings their operation, and measures how long checks take.
type checks struct {
	*freshness.Checker
	running func(store.CodebaseID) *tool.Operation
	checked func(state string, took time.Duration)
}

// Check checks as freshness.Checker does.
func (c checks) Check(ctx context.Context, id store.CodebaseID, o tool.CheckOptions) (tool.Reading, error) {
	reading, err := c.Checker.Check(ctx, id, freshness.Demand{
		Unchecked: o.Mode == tool.ModeEventual, MaxWait: o.MaxWait, MinToken: o.MinToken, At: o.At,
	})
	if err != nil {
		return tool.Reading{}, err
	}
	if v := reading.Verdict; !v.CheckedAt.IsZero() {
		c.checked(string(v.State), v.CheckTook)
	}
	return tool.Reading{Verdict: reading.Verdict, View: reading.View, CanEmbed: reading.CanEmbed, Running: c.running(id)}, nil
}

// outbox flushes the outbox for a synchronizer. Events that could not be published are
// published later; what kept them is noted.
type outbox struct {
	flush   func(context.Context) error
	trouble func(error)
}

// Flush publishes what the outbox holds.
func (o outbox) Flush(ctx context.Context) error {
	err := o.flush(ctx)
	if err != nil && ctx.Err() == nil {
		o.trouble(err)
	}
	return err
}

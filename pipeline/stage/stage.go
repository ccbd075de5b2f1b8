package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/outbox"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Publisher appends messages to the log; bus.Bus is one.
type Publisher interface {
	Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error)
}

// Announcer publishes events that were committed to the outbox; outbox.Pump is one.
type Announcer interface {
	Flush(ctx context.Context) error
}

// Deps are what both stages need.
type Deps struct {
	Store  store.Store
	Bus    Publisher
	Outbox Announcer
	Recipe store.Recipe
	// Tree reads damaged contents again; nil where the files of codebases are not at hand.
	Tree Tree
	// Shared is set where the consumers are those of the recipe: events of another recipe
	// are other processes' work.
	Shared   bool
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means discard
	Observer Observer         // nil means nobody
}

// Observer is told what a stage did, for progress and counts. It must not block.
type Observer interface {
	// Processed reports files that a stage finished for a snapshot: done of them by work,
	// reused of them because the store had the result; units counts chunks or vectors made.
	Processed(id store.CodebaseID, snapshot uint64, stage store.Stage, done, reused, units int)
}

type core struct {
	Deps
	stage       store.Stage
	fingerprint store.Fingerprint
	claims      *claims
}

func newCore(deps Deps, s store.Stage) core {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	return core{Deps: deps, stage: s, fingerprint: deps.Recipe.Fingerprint(), claims: &claims{}}
}

// wrongRecipeDelay is how long an event of another recipe waits for a worker that has it.
const wrongRecipeDelay = 5 * time.Second

// newerDelay is how long an event of a newer version waits for a worker that knows it.
const newerDelay = time.Second

// decode decodes a delivery. Where others share the work, those of a newer version are
// left to them: they may be of the same recipe, and take from the same consumer.
func (c *core) decode(d bus.Delivery) (event.Event, error) {
	e, err := event.Decode(d.Data)
	if err == nil {
		return e, nil
	}
	newer := errors.Is(err, event.ErrNewerVersion) || errors.Is(err, event.ErrUnknownType)
	if !c.Shared || !newer {
		return e, &bus.Drop{Err: fmt.Errorf("decode message %d: %w", d.Sequence, err)}
	}
	if _, fingerprint := event.AddressOf(d.Data); fingerprint != "" && fingerprint != c.fingerprint {
		return e, bus.ErrObsolete
	}
	return e, &bus.Retry{After: newerDelay, Err: fmt.Errorf("leave message %d: %w", d.Sequence, err)}
}

// admit decodes a delivery and decides whether it is this worker's to process.
func (c *core) admit(ctx context.Context, d bus.Delivery) (event.Event, error) {
	e, err := c.decode(d)
	if err != nil {
		return e, err
	}
	codebase, err := c.Store.Codebase(ctx, e.Codebase)
	if errors.Is(err, store.ErrNotFound) {
		return e, bus.ErrObsolete
	}
	if err != nil {
		return e, outage(err)
	}
	if e.Fingerprint != "" && e.Fingerprint != c.fingerprint {
		if e.Snapshot < codebase.Latest || c.Shared {
			return e, bus.ErrObsolete
		}
		return e, &bus.Retry{After: wrongRecipeDelay, Err: fmt.Errorf(
			"event of recipe %s, this worker has %s", e.Fingerprint.Short(), c.fingerprint.Short())}
	}
	return e, c.wanted(ctx, codebase, e.Snapshot)
}

// wanted returns bus.ErrObsolete for a snapshot that was given up. What is left of its
// work was opened again with the next one, or is not wanted, because it was cancelled.
func (c *core) wanted(ctx context.Context, codebase store.Codebase, number uint64) error {
	if number == 0 {
		return nil
	}
	snapshot, err := c.Store.Snapshot(ctx, codebase.ID, number)
	switch {
	case errors.Is(err, store.ErrNotFound) && number < codebase.Latest:
		return bus.ErrObsolete // collected
	case errors.Is(err, store.ErrNotFound):
		return nil // its rows are on their way
	case err != nil:
		return outage(err)
	case snapshot.Abandoned:
		return bus.ErrObsolete
	}
	return nil
}

// follow publishes the event that says the stage has finished with files. It keeps the
// part of the event it follows, so that a repeat is the same event.
func (c *core) follow(ctx context.Context, next event.Event) error {
	data, err := event.Encode(next)
	if err != nil {
		return &bus.Drop{Err: fmt.Errorf("encode %s: %w", next.Type, err)}
	}
	_, err = c.Bus.Publish(ctx, []bus.Message{{Codebase: next.Codebase, Lane: outbox.LaneOf(next), ID: next.ID(), Data: data}}, nil)
	if err != nil {
		return outage(fmt.Errorf("publish %s: %w", next.Type, err))
	}
	return nil
}

// fault is a file that the stage could not process.
type fault struct {
	file    event.File
	version string
	err     error
}

// left is what is to be tried again after a count.
type left struct {
	files []event.File
	// retry has the message delivered again after a delay that grows with the tries of a file:
	// the deliveries of the message count outages too. It is nil when no file is left.
	retry error
}

// count adds a try to each fault and parks those that had their last.
func (c *core) count(ctx context.Context, cause event.Event, faults []fault) (again left, err error) {
	parked := false
	for _, f := range c.withTwins(cause, faults) {
		path, err := merkle.UnquotePath(f.file.Path)
		if err != nil {
			return again, &bus.Drop{Err: err}
		}
		snapshot, err := c.snapshotOf(ctx, cause, path, f.file.Content)
		if err != nil {
			return again, outage(err)
		}
		failure, err := c.Store.RecordFailure(ctx, store.Failure{
			Codebase: cause.Codebase, Path: path, Content: f.file.Content,
			Stage: c.stage, Version: f.version, Reason: f.err.Error(), At: c.Now(),
		}, false, c.parkedEvent(cause.Codebase, snapshot))
		if err != nil {
			return again, outage(err)
		}
		c.Log.Warn("file failed", "stage", c.stage, "path", f.file.Path, "tries", failure.Tries, "parked", failure.Parked, "error", f.err)
		if !failure.Parked {
			again.files = append(again.files, f.file)
			again.retry = &bus.Retry{After: bus.Backoff(failure.Tries), Err: fmt.Errorf("%s %s: %w", c.stage, f.file.Path, f.err)}
			continue
		}
		parked = true
	}
	if parked {
		if err := c.Outbox.Flush(ctx); err != nil {
			return again, outage(err)
		}
	}
	return again, nil
}

// withTwins adds the other files of the event that have the content of a fault and the same
// version of syntax: one of them was tried for all.
func (c *core) withTwins(cause event.Event, faults []fault) []fault {
	if len(faults) == 0 {
		return nil
	}
	var files []event.File
	switch {
	case cause.Changed != nil:
		files = cause.Changed.Files
	case cause.Processed != nil:
		files = cause.Processed.Files
	}
	out := slices.Clone(faults)
	for _, f := range faults {
		for _, other := range files {
			same := other.Content == f.file.Content && c.Recipe.SyntaxVersion(other.Language) == c.Recipe.SyntaxVersion(f.file.Language)
			if same && other.Path != f.file.Path {
				out = append(out, fault{other, f.version, f.err})
			}
		}
	}
	return out
}

// snapshotOf returns the snapshot that a file is parked in: the newest, if that has it too, and
// else that of the event, which may be an older one that came late.
func (c *core) snapshotOf(ctx context.Context, cause event.Event, path string, content merkle.Hash) (uint64, error) {
	codebase, err := c.Store.Codebase(ctx, cause.Codebase)
	if err != nil || codebase.Latest <= cause.Snapshot {
		return cause.Snapshot, err
	}
	f, err := c.Store.File(ctx, cause.Codebase, codebase.Latest, path)
	switch {
	case errors.Is(err, store.ErrNotFound) || store.IsDamage(err) || err == nil && f.Content != content:
		return cause.Snapshot, nil
	case err != nil:
		return 0, err
	}
	return codebase.Latest, nil
}

// parkedEvent makes the event that says that a file of a snapshot was parked.
func (c *core) parkedEvent(id store.CodebaseID, snapshot uint64) func(store.Failure) (store.OutboxEvent, error) {
	return func(f store.Failure) (store.OutboxEvent, error) {
		e := event.ParkedFile(
			event.Event{Codebase: id, Snapshot: snapshot, Fingerprint: c.fingerprint, At: c.Now()}, event.ParkedBy(f))
		data, err := event.Encode(e)
		if err != nil {
			return store.OutboxEvent{}, fmt.Errorf("encode %s: %w", e.Type, err)
		}
		return store.OutboxEvent{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data}, nil
	}
}

// parkedSet returns the paths that are parked at this stage with the content they have.
func (c *core) parkedSet(ctx context.Context, id store.CodebaseID) (map[parkedKey]bool, error) {
	failures, err := c.Store.Failures(ctx, id)
	if err != nil {
		return nil, outage(err)
	}
	set := map[parkedKey]bool{}
	for _, f := range failures {
		if f.Parked && f.Stage == c.stage {
			set[parkedKey{merkle.QuotePath(f.Path), f.Content, f.Version}] = true
		}
	}
	return set, nil
}

type parkedKey struct {
	path    string
	content merkle.Hash
	version string
}

func (c *core) report(e event.Event, done, reused, units int) {
	if c.Observer != nil {
		c.Observer.Processed(e.Codebase, e.Snapshot, c.stage, done, reused, units)
	}
}

// outageDelay is the first delay after an error of the store or the log, which is nobody's
// fault and counts as no file's try.
const outageDelay = 500 * time.Millisecond

func outage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &bus.Retry{After: outageDelay, Err: err}
}

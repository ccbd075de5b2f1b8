// Package inspect explains: the state of a codebase, and why a path is or is not searchable.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/eventlog"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/integrity"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/store/segment"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Log is the event log; a natsbus.Bus is one.
type Log interface {
	State(ctx context.Context) (bus.State, error)
	DeadLetters(ctx context.Context) ([]bus.DeadLetter, error)
}

// Inspector explains. All fields are required.
type Inspector struct {
	Store  store.Reader
	Recipe store.Recipe // in force
	Log    Log
	// Events are those of the log.
	Events eventlog.Log
	// Here reports whether this process sees the tree of a codebase.
	Here func(store.Codebase) bool
	// Scan are the options of a scan that judges paths.
	Scan func() scan.Options
	// Compare says whether the file at path has the content now.
	Compare func(ctx context.Context, c store.Codebase, path string, content merkle.Hash) (tool.DiskState, error)
	// Running is the operation that runs on a codebase, nil when none does.
	Running func(id store.CodebaseID) *tool.Operation
	// Watch tells of the watcher of a codebase, if it is followed, and Watching says whether
	// there ought to be one.
	Watch    func(id store.CodebaseID) (status merklesync.WatchStatus, followed bool)
	Watching bool
	// Reset tells when the log was last begun anew for damage, nil when it was not.
	Reset func() *tool.LogReset
}

// Inspect gathers the facts of one codebase without checking the tree.
func (i *Inspector) Inspect(ctx context.Context, id store.CodebaseID) (tool.Facts, error) {
	codebase, err := i.Store.Codebase(ctx, id)
	if err != nil {
		return tool.Facts{}, err
	}
	facts := tool.Facts{Codebase: codebase, Running: i.Running(id), Watch: i.watch(id)}
	if i.Watching && facts.Watch.State != string(merklesync.WatchLive) {
		facts.Degraded = facts.Watch.Reason
	}
	failures, err := i.Store.Failures(ctx, id)
	if err != nil {
		return facts, fmt.Errorf("failures: %w", err)
	}
	facts.Parked = slices.DeleteFunc(failures, func(f store.Failure) bool { return !f.Parked })
	if facts.Counts.LeftOut, err = i.leftOut(ctx, id); err != nil {
		return facts, fmt.Errorf("left out files: %w", err)
	}
	if err := i.serving(ctx, id, &facts); err != nil {
		return facts, err
	}
	if err := i.lag(ctx, codebase, &facts); err != nil {
		return facts, err
	}
	return facts, i.log(ctx, &facts)
}

func (i *Inspector) leftOut(ctx context.Context, id store.CodebaseID) (map[store.LeftOut]int, error) {
	counts := map[store.LeftOut]int{}
	for entry, err := range i.Store.Stats(ctx, id) {
		if err != nil {
			return nil, err
		}
		if entry.LeftOut != "" {
			counts[entry.LeftOut]++
		}
	}
	return counts, nil
}

// serving counts what the served snapshot holds.
func (i *Inspector) serving(ctx context.Context, id store.CodebaseID, facts *tool.Facts) error {
	snapshots, err := i.Store.Snapshots(ctx, id)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	facts.Counts.Retained = len(snapshots)
	served, err := store.Served(ctx, i.Store, id)
	if errors.Is(err, store.ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	facts.Serving = &served
	view, err := i.Store.View(ctx, id, served.Number)
	if err != nil {
		return fmt.Errorf("view of snapshot %d: %w", served.Number, err)
	}
	facts.Counts.Files, facts.Counts.Bytes, facts.Counts.Segments = served.Files, served.Bytes, len(view.Segments)
	if err := integrity.Sound(ctx, i.Store, id, i.Recipe); store.IsDamage(err) { // what else is known is shown all the same
		facts.Degraded = fmt.Sprintf("the index is damaged: %v; `freshet verify %s --repair` makes it again", err, id)
	} else if err != nil {
		return err
	}
	for _, ref := range view.Segments {
		facts.Counts.Chunks += ref.Chunks
		if len(ref.Dead) == 0 {
			continue
		}
		err := integrity.WithSegment(ctx, i.Store, ref.ID, func(seg *segment.Segment) {
			for _, ordinal := range ref.Dead {
				first, end := seg.FileChunks(int(ordinal))
				facts.Counts.Chunks -= end - first
			}
		})
		if err != nil && !store.IsDamage(err) {
			return err
		}
	}
	return nil
}

func (i *Inspector) lag(ctx context.Context, c store.Codebase, facts *tool.Facts) error {
	outbox, err := i.Store.Outbox(ctx, bus.MaxBatch)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	facts.Lag.Outbox = len(outbox)
	if c.Latest == 0 {
		return nil
	}
	latest, err := i.Store.Snapshot(ctx, c.ID, c.Latest)
	if err != nil || latest.Level == store.LevelFull || latest.Abandoned {
		return err
	}
	pending, err := i.Store.Pending(ctx, c.ID, c.Latest, i.Recipe)
	if err != nil {
		return fmt.Errorf("pending work: %w", err)
	}
	for _, p := range pending {
		if p.Stage == store.StageChunk {
			facts.Lag.Chunk++
		} else {
			facts.Lag.Embed++
		}
	}
	return nil
}

func (i *Inspector) log(ctx context.Context, facts *tool.Facts) error {
	state, err := i.Log.State(ctx)
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	letters, err := i.Log.DeadLetters(ctx)
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	facts.Log = tool.LogFacts{
		Incarnation: state.Incarnation, First: state.First, Last: state.Last,
		Messages: state.Messages, DeadLetters: len(letters), Reset: i.Reset(),
	}
	for _, c := range state.Consumers {
		facts.Lag.Log += c.Pending + uint64(c.InFlight)
	}
	return nil
}

// maxEvents is how many events of a path are told.
const maxEvents = 20

// Why tells the story of one path.
func (i *Inspector) Why(ctx context.Context, id store.CodebaseID, path string) (tool.WhyReport, error) {
	report := tool.WhyReport{Path: path, Steps: []tool.WhyStep{}, Events: []tool.LogEvent{}}
	codebase, err := i.Store.Codebase(ctx, id)
	if err != nil {
		return report, err
	}
	if !i.Here(codebase) {
		return report, advice.Elsewhere(codebase)
	}
	explanation, err := scan.New(codebase.Root, i.Scan()).Explain(path)
	explained := explain(explanation, err)
	if err != nil && !errors.Is(err, scan.ErrMissing) && !errors.Is(err, scan.ErrInGit) && !errors.Is(err, fs.ErrPermission) {
		return report, advice.Path(path, err)
	}
	step := func(name string, ok bool, detail string) {
		report.Steps = append(report.Steps, tool.WhyStep{Step: name, OK: ok, Detail: detail})
	}
	step("seen", err == nil && explanation.LeftOut == "", explained)
	if err := i.processed(ctx, codebase, path, &report, step); err != nil {
		return report, err
	}
	report.Events, err = i.Events.Mentions(ctx, id, merkle.QuotePath(path), maxEvents)
	return report, err
}

// explain says in one line why a path is in the tree or not.
func explain(e scan.Explanation, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	if e.LeftOut == "" {
		fmt.Fprintf(&b, "in the tree, %d bytes", e.Size)
		if e.Language != "" {
			b.WriteString(", " + e.Language)
		}
	} else {
		fmt.Fprintf(&b, "left out: %s", e.LeftOut)
	}
	if e.Detail != "" {
		b.WriteString(", " + e.Detail)
	}
	if e.Directory != "" {
		fmt.Fprintf(&b, ", with its directory %s", merkle.QuotePath(e.Directory))
	}
	if e.Match.File != "" {
		fmt.Fprintf(&b, ", by %s:%d: %s", merkle.QuotePath(e.Match.File), e.Match.Line, e.Match.Pattern)
	}
	return b.String()
}

// processed tells how far the served snapshot, or the one that awaits sealing, has come
// with a file.
func (i *Inspector) processed(ctx context.Context, c store.Codebase, path string, report *tool.WhyReport, step func(string, bool, string)) error {
	entry, err := i.Store.File(ctx, c.ID, c.Latest, path)
	if errors.Is(err, store.ErrNotFound) {
		step("snapshot", false, fmt.Sprintf("snapshot %d does not have the path", c.Latest))
		return nil
	}
	if err != nil {
		return err
	}
	step("snapshot", true, fmt.Sprintf("content %s in snapshot %d, language %q", entry.Content.Short(), c.Latest, entry.Language))
	if data, err := i.Store.Content(ctx, entry.Content); err == nil {
		step("masked", true, maskedIn(data))
	}
	key := store.SyntaxKey{Content: entry.Content, Version: i.Recipe.SyntaxVersion(entry.Language)}
	syntaxes, err := i.Store.Syntax(ctx, []store.SyntaxKey{key})
	if err != nil {
		return err
	}
	standing, err := store.StandingOf(ctx, i.Store, c.ID, entry, i.Recipe)
	if err != nil {
		return err
	}
	syntax := syntaxes[key]
	step("chunked", standing.Lacks != store.StageChunk, fmt.Sprintf("%d chunks, %d definitions, cut by %s", len(syntax.Chunks), len(syntax.Definitions), syntax.Cut))
	step("embedded", standing.Lacks == "", i.Recipe.Embedding.Provider+" "+i.Recipe.Embedding.Model)
	failures, err := i.Store.Failures(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, f := range failures {
		if f.Path == path && f.Content == entry.Content {
			step("failed", false, fmt.Sprintf("%d tries at %s: %s", f.Tries, f.Stage, f.Reason))
		}
	}
	served, err := i.Store.File(ctx, c.ID, c.Current, path)
	sealed := err == nil && served.Content == entry.Content
	level, err := i.sealedLevel(ctx, c, sealed, standing)
	if err != nil {
		return err
	}
	step("sealed", sealed, level)
	state, err := i.Compare(ctx, c, path, entry.Content)
	if err != nil {
		return err
	}
	report.Searchable = sealed && state == tool.DiskSame
	return nil
}

// sealedLevel tells at what level the served snapshot has a file, and what it lacks.
func (i *Inspector) sealedLevel(ctx context.Context, c store.Codebase, sealed bool, standing store.Standing) (string, error) {
	if c.Current == 0 {
		return "no snapshot is served yet", nil
	}
	served, err := i.Store.Snapshot(ctx, c.ID, c.Current)
	if err != nil {
		return "", err
	}
	detail := fmt.Sprintf("snapshot %d is served at level %s", served.Number, served.Level)
	switch {
	case !sealed || standing.Lacks == "":
	case standing.Parked:
		detail += fmt.Sprintf("; the file is parked at stage %s, and found by what it has", standing.Lacks)
	case served.Level < store.LevelFull:
		detail += fmt.Sprintf("; the file is found by its words until stage %s is done", standing.Lacks)
	case served.Fingerprint == i.Recipe.Fingerprint():
		detail += fmt.Sprintf("; its rows were lost since: the index still answers from its segments, `freshet reindex %s` makes them again", c.ID)
	}
	return detail, nil
}

// maskedIn says what is covered of a file wherever its text leaves the process.
func maskedIn(data []byte) string {
	spans := secret.Find(data)
	if len(spans) == 0 {
		return "nothing has the form of a credential"
	}
	var rules []string
	for _, s := range spans {
		rules = append(rules, s.Rule)
	}
	slices.Sort(rules)
	return fmt.Sprintf("%d spans of the form of credentials are masked in answers, exports and what providers get: %s",
		len(spans), strings.Join(slices.Compact(rules), ", "))
}

// watch reports on the watcher of a codebase.
func (i *Inspector) watch(id store.CodebaseID) tool.WatchReport {
	status, followed := i.Watch(id)
	if !followed {
		return tool.WatchReport{State: string(status.State), Reason: "nobody has asked for this codebase yet"}
	}
	report := tool.WatchReport{
		State: string(status.State), Reason: status.Reason, Watches: status.Watches,
		Since: status.Since, Missed: status.Missed,
	}
	if !i.Watching {
		report.Reason = "this host lives for one command"
	}
	return report
}

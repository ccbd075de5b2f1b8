package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/store/segment"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// inspector explains.
type inspector struct{ *Host }

// Inspect gathers the facts of one codebase without checking the tree.
func (i inspector) Inspect(ctx context.Context, id store.CodebaseID) (tool.Facts, error) {
	codebase, err := i.store.Codebase(ctx, id)
	if err != nil {
		return tool.Facts{}, err
	}
	facts := tool.Facts{Codebase: codebase, Running: i.ops.running(id), Watch: i.watch(id)}
	if i.opts.Watch && facts.Watch.State != string(merklesync.WatchLive) {
		facts.Degraded = facts.Watch.Reason
	}
	failures, err := i.store.Failures(ctx, id)
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

func (i inspector) leftOut(ctx context.Context, id store.CodebaseID) (map[store.LeftOut]int, error) {
	counts := map[store.LeftOut]int{}
	for entry, err := range i.store.Stats(ctx, id) {
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
func (i inspector) serving(ctx context.Context, id store.CodebaseID, facts *tool.Facts) error {
	snapshots, err := i.store.Snapshots(ctx, id)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	facts.Counts.Retained = len(snapshots)
	served, err := store.Served(ctx, i.reads, id)
	if errors.Is(err, store.ErrNoSnapshot) {
		return nil
	}
	if err != nil {
		return err
	}
	facts.Serving = &served
	view, err := i.store.View(ctx, id, served.Number)
	if err != nil {
		return fmt.Errorf("view of snapshot %d: %w", served.Number, err)
	}
	facts.Counts.Files, facts.Counts.Bytes, facts.Counts.Segments = served.Files, served.Bytes, len(view.Segments)
	if err := i.sound(ctx, id); advice.IsDamage(err) { // what else is known is shown all the same
		facts.Degraded = fmt.Sprintf("the index is damaged: %v; `freshet verify %s --repair` makes it again", err, id)
	} else if err != nil {
		return err
	}
	for _, ref := range view.Segments {
		facts.Counts.Chunks += ref.Chunks
		if len(ref.Dead) == 0 {
			continue
		}
		err := i.withSegment(ctx, ref.ID, func(seg *segment.Segment) {
			for _, ordinal := range ref.Dead {
				first, end := seg.FileChunks(int(ordinal))
				facts.Counts.Chunks -= end - first
			}
		})
		if err != nil && !advice.IsDamage(err) {
			return err
		}
	}
	return nil
}

func (i inspector) lag(ctx context.Context, c store.Codebase, facts *tool.Facts) error {
	outbox, err := i.store.Outbox(ctx, bus.MaxBatch)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	facts.Lag.Outbox = len(outbox)
	if c.Latest == 0 {
		return nil
	}
	latest, err := i.store.Snapshot(ctx, c.ID, c.Latest)
	if err != nil || latest.Level == store.LevelFull || latest.Abandoned {
		return err
	}
	pending, err := i.store.Pending(ctx, c.ID, c.Latest, i.recipe)
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

func (i inspector) log(ctx context.Context, facts *tool.Facts) error {
	state, err := i.bus.State(ctx)
	if err != nil {
		return fmt.Errorf("event log: %w", err)
	}
	letters, err := i.bus.DeadLetters(ctx)
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	facts.Log = tool.LogFacts{
		Incarnation: state.Incarnation, First: state.First, Last: state.Last,
		Messages: state.Messages, DeadLetters: len(letters), Reset: i.logReset(),
	}
	for _, c := range state.Consumers {
		facts.Lag.Log += c.Pending + uint64(c.InFlight)
	}
	return nil
}

// maxEvents is how many events of a path are told.
const maxEvents = 20

// Why tells the story of one path.
func (i inspector) Why(ctx context.Context, id store.CodebaseID, path string) (tool.WhyReport, error) {
	report := tool.WhyReport{Path: path, Steps: []tool.WhyStep{}, Events: []tool.LogEvent{}}
	codebase, err := i.store.Codebase(ctx, id)
	if err != nil {
		return report, err
	}
	if !i.here(codebase) {
		return report, advice.Elsewhere(codebase)
	}
	explanation, err := scan.New(codebase.Root, datadir.ScanOptions(i.opts.Home, i.opts.Log)).Explain(path)
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
	quoted := merkle.QuotePath(path)
	err = i.bus.Read(ctx, 1, 0, func(m bus.Stored) error {
		if m.Codebase != id {
			return nil
		}
		e, err := event.Decode(m.Data)
		if err == nil && names(e, quoted) {
			told := logEvent(m)
			told.Summary = mention(e, quoted, told.Summary)
			report.Events = append(report.Events, told)
			if len(report.Events) > maxEvents {
				report.Events = report.Events[1:]
			}
		}
		return nil
	})
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
func (i inspector) processed(ctx context.Context, c store.Codebase, path string, report *tool.WhyReport, step func(string, bool, string)) error {
	entry, err := i.store.File(ctx, c.ID, c.Latest, path)
	if errors.Is(err, store.ErrNotFound) {
		step("snapshot", false, fmt.Sprintf("snapshot %d does not have the path", c.Latest))
		return nil
	}
	if err != nil {
		return err
	}
	step("snapshot", true, fmt.Sprintf("content %s in snapshot %d, language %q", entry.Content.Short(), c.Latest, entry.Language))
	if data, err := i.store.Content(ctx, entry.Content); err == nil {
		step("masked", true, maskedIn(data))
	}
	key := store.SyntaxKey{Content: entry.Content, Version: i.recipe.SyntaxVersion(entry.Language)}
	syntaxes, err := i.store.Syntax(ctx, []store.SyntaxKey{key})
	if err != nil {
		return err
	}
	standing, err := store.StandingOf(ctx, i.store, c.ID, entry, i.recipe)
	if err != nil {
		return err
	}
	syntax := syntaxes[key]
	step("chunked", standing.Lacks != store.StageChunk, fmt.Sprintf("%d chunks, %d definitions, cut by %s", len(syntax.Chunks), len(syntax.Definitions), syntax.Cut))
	step("embedded", standing.Lacks == "", i.recipe.Embedding.Provider+" "+i.recipe.Embedding.Model)
	failures, err := i.store.Failures(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, f := range failures {
		if f.Path == path && f.Content == entry.Content {
			step("failed", false, fmt.Sprintf("%d tries at %s: %s", f.Tries, f.Stage, f.Reason))
		}
	}
	served, err := i.store.File(ctx, c.ID, c.Current, path)
	sealed := err == nil && served.Content == entry.Content
	level, err := i.sealedLevel(ctx, c, sealed, standing)
	if err != nil {
		return err
	}
	step("sealed", sealed, level)
	state, err := i.files.Compare(ctx, c, path, entry.Content)
	if err != nil {
		return err
	}
	report.Searchable = sealed && state == tool.DiskSame
	return nil
}

// sealedLevel tells at what level the served snapshot has a file, and what it lacks.
func (i inspector) sealedLevel(ctx context.Context, c store.Codebase, sealed bool, standing store.Standing) (string, error) {
	if c.Current == 0 {
		return "no snapshot is served yet", nil
	}
	served, err := i.store.Snapshot(ctx, c.ID, c.Current)
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
	case served.Fingerprint == i.recipe.Fingerprint():
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

package tool

import (
	"fmt"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
)

// writeReport renders the member that the verb added.
func writeReport(b *strings.Builder, e *Envelope) {
	r := e.Report
	switch {
	case r.Findings != nil:
		writeFindings(b, *r.Findings)
	case r.Health != nil:
		writeHealth(b, *r.Health)
		writeStatuses(b, *r.Codebases)
	case r.Registered != nil:
		for _, info := range *r.Registered {
			fmt.Fprintf(b, "%s  %s  %s  %s  snapshot %d, %s  %s\n", oneLine(info.Name), info.ID, info.Root, info.State,
				info.Snapshot, plural(info.Files, "file"), oneLine(info.Ref))
		}
	case r.Overview != nil:
		for _, d := range *r.Overview {
			writeDirectory(b, d)
		}
	case r.Recipe != nil:
		writeRecipe(b, *r.Recipe)
	case r.Plan != nil:
		writePlan(b, *r.Plan)
	case r.Codebases != nil:
		writeStatuses(b, *r.Codebases)
	case r.Summary != nil:
		writeSummary(b, e.Codebase, *r.Summary)
	case r.Why != nil:
		writeWhy(b, *r.Why)
	case r.Snapshots != nil:
		for _, s := range *r.Snapshots {
			writeSnapshot(b, s)
		}
	case r.Compared != nil:
		writeCompared(b, *r.Compared, *r.Changes)
	case r.Events != nil:
		for _, event := range *r.Events {
			b.WriteString(EventLine(event))
		}
	case r.Verification != nil:
		writeVerification(b, *r.Verification)
	default:
		writeKeeping(b, r)
	}
}

func writeKeeping(b *strings.Builder, r Report) {
	switch {
	case r.Digests != nil:
		for _, d := range *r.Digests {
			fmt.Fprintf(b, "digest %s  %s  snapshot %d  %s\n", d.Digest, oneLine(d.Name), d.Snapshot, plural(d.Files, "file"))
		}
	case r.Recording != nil:
		fmt.Fprintf(b, "recorded %s and %s, %s, in %s\n", plural(r.Recording.Events, "event"),
			plural(r.Recording.Contents, "content"), size(r.Recording.Bytes), oneLine(r.Recording.File))
		if r.Recording.Masked > 0 {
			fmt.Fprintf(b, "%s of the form of credentials masked\n", plural(r.Recording.Masked, "span"))
		}
	case r.Collected != nil:
		c := r.Collected
		fmt.Fprintf(b, "%s, %s, %s, %s, %s: %s\n", plural(c.Snapshots, "snapshot"), plural(c.Contents, "content"),
			grouped(c.Syntaxes)+" syntaxes", plural(c.Vectors, "vector"), plural(c.Segments, "segment"), size(c.Bytes))
	case r.DeadLetters != nil:
		if len(*r.DeadLetters) == 0 {
			b.WriteString("no dead letters\n")
		}
		for _, d := range *r.DeadLetters {
			fmt.Fprintf(b, "%d  sequence %d  %s  %s  %s\n", d.Letter, d.Sequence,
				d.At.UTC().Format(time.RFC3339), d.Consumer, oneLine(d.Reason))
		}
	case r.Settled != nil:
		b.WriteString(plural(*r.Settled, "dead letter") + " settled\n")
	case r.Build != nil:
		fmt.Fprintf(b, "freshet %s", r.Build.Version)
		if r.Build.Revision != "" {
			fmt.Fprintf(b, " (%s)", r.Build.Revision)
		}
		fmt.Fprintf(b, ", %s\n", r.Build.Go)
	}
}

func writeStatuses(b *strings.Builder, all []CodebaseStatus) {
	if len(all) == 0 {
		b.WriteString("no codebase is registered\n")
	}
	for i, s := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		writeStatus(b, s)
	}
}

func writeStatus(b *strings.Builder, s CodebaseStatus) {
	fmt.Fprintf(b, "%s  %s  %s\n", oneLine(s.Codebase.Name), s.Codebase.ID, s.Codebase.Root)
	fmt.Fprintf(b, "  state: %s\n", s.State)
	fmt.Fprintf(b, "  freshness: %s\n", VerdictLine(s.Freshness))
	if s.Failure != "" {
		fmt.Fprintf(b, "  failure: %s\n", oneLine(s.Failure))
	}
	if o := s.Operation; o != nil {
		fmt.Fprintf(b, "  operation: %s %s, %s, %d %%\n", o.Kind, o.ID, o.Phase, int(100*o.Fraction()))
	}
	c := s.Counts
	fmt.Fprintf(b, "  index: %s, %s, %s, %s, %s\n", plural(c.Files, "file"), size(c.Bytes),
		plural(c.Chunks, "chunk"), plural(c.Segments, "segment"), plural(c.Retained, "snapshot"))
	if len(c.LeftOut) > 0 {
		parts := make([]string, 0, len(c.LeftOut))
		for _, reason := range sortedReasons(c.LeftOut) {
			parts = append(parts, fmt.Sprintf("%s %s", reason, grouped(c.LeftOut[store.LeftOut(reason)])))
		}
		fmt.Fprintf(b, "  left out: %s\n", strings.Join(parts, ", "))
	}
	fmt.Fprintf(b, "  lag: %d to chunk, %d to embed, %d to publish, %s in the log\n",
		s.Lag.Chunk, s.Lag.Embed, s.Lag.Outbox, plural(int(s.Lag.Log), "message"))
	fmt.Fprintf(b, "  log: incarnation %s, sequences %d to %d, %s\n", s.Log.Incarnation,
		s.Log.First, s.Log.Last, plural(s.Log.DeadLetters, "dead letter"))
	if r := s.Log.Reset; r != nil {
		fmt.Fprintf(b, "  log was damaged (%s) and began anew at %s; nothing is lost\n", r.Reason, r.At.Format(time.RFC3339))
	}
	if line := s.Watch.line(); line != "" {
		fmt.Fprintf(b, "  watcher: %s\n", line)
	}
	if s.Degraded != "" {
		fmt.Fprintf(b, "  degraded: %s\n", oneLine(s.Degraded))
	}
	for _, p := range s.Parked {
		word := "failing"
		if p.Parked {
			word = "parked"
		}
		fmt.Fprintf(b, "  %s: %s at %s after %d tries: %s\n", word, p.Path, p.Stage, p.Tries, oneLine(p.Reason))
	}
}

func sortedReasons(m map[store.LeftOut]int) []string {
	words := make(map[string]int, len(m))
	for reason, n := range m {
		words[string(reason)] = n
	}
	return sortedKeys(words)
}

func writeSummary(b *strings.Builder, ref CodebaseRef, s Summary) {
	fmt.Fprintf(b, "%s: %s indexed, %s left out, %s parked; %s new, %s embedded, %s reused; %s in %s\n",
		oneLine(ref.Name), plural(s.FilesIndexed, "file"), grouped(s.FilesSkipped), grouped(s.FilesParked),
		plural(s.Chunks, "chunk"), grouped(s.Embedded), grouped(s.Reused), size(s.Bytes),
		(time.Duration(s.DurationMs) * time.Millisecond).String())
}

func writeWhy(b *strings.Builder, w WhyReport) {
	verdict := "is not searchable"
	if w.Searchable {
		verdict = "is searchable"
	}
	fmt.Fprintf(b, "%s %s\n", w.Path, verdict)
	for _, step := range w.Steps {
		mark := "no "
		if step.OK {
			mark = "yes"
		}
		fmt.Fprintf(b, "  %s  %-9s  %s\n", mark, step.Step, oneLine(step.Detail))
	}
	for _, event := range w.Events {
		b.WriteString("  event " + EventLine(event))
	}
}

func writeSnapshot(b *strings.Builder, s SnapshotInfo) {
	fmt.Fprintf(b, "%d  %-4s  %s  root %.12s  fingerprint %s  %s, %s changed", s.Number, s.Level,
		s.OpenedAt.UTC().Format(time.RFC3339), s.Root, s.Fingerprint.Short(), plural(s.Files, "file"), grouped(s.Changed))
	if s.Ref != "" {
		b.WriteString("  " + oneLine(s.Ref))
	}
	if s.Serving {
		b.WriteString("  serving")
	}
	if s.Pinned {
		b.WriteString("  pinned")
	}
	b.WriteString("\n")
}

func writeCompared(b *strings.Builder, c Compared, changes []ManifestChange) {
	for _, change := range changes {
		fmt.Fprintf(b, "%-8s  %s", change.Kind, change.Path)
		if change.StartLine > 0 {
			fmt.Fprintf(b, ":%d-%d  %s", change.StartLine, change.EndLine, oneLine(change.Name))
		}
		if change.From != "" {
			b.WriteString("  from " + oneLine(change.From))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "snapshot %d to %d: %s added, %s modified, %s removed, %s renamed", c.From.Number, c.To.Number,
		grouped(c.Added), grouped(c.Modified), grouped(c.Removed), grouped(c.Renamed))
	if c.Reprocessed > 0 {
		b.WriteString(", " + grouped(c.Reprocessed) + " reprocessed")
	}
	b.WriteString("\n" + c.verdict() + "\n")
	for _, f := range c.Settings {
		fmt.Fprintf(b, "setting %s: %s -> %s (%s side)\n", f.Label, f.Old, f.New, f.Side)
	}
}

func writeVerification(b *strings.Builder, v Verification) {
	fmt.Fprintf(b, "index    %s\nrebuilt  %s\n", v.DigestIndex, v.DigestRebuilt)
	defer func() {
		for _, k := range v.Kept {
			fmt.Fprintf(b, "%s\n", oneLine(k))
		}
	}()
	if v.Equal {
		b.WriteString("equal\n")
		return
	}
	for _, d := range v.Differences {
		fmt.Fprintf(b, "only in %s: %s\n", d.Side, oneLine(d.Line))
	}
	fmt.Fprintf(b, "%s", plural(v.DifferenceCount, "difference"))
	if v.Repaired {
		b.WriteString(", repaired")
	}
	b.WriteString("\n")
}

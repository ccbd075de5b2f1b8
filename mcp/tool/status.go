package tool

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// status reports on the codebase that the scope names after checking its tree, or, when
// it names none, on all of them without a check.
func (c *call) status(ctx context.Context, p StatusParams) error {
	options, err := p.options()
	if err != nil {
		return err
	}
	all, err := c.Catalog.Codebases(ctx)
	if err != nil {
		return err
	}
	reports := []CodebaseStatus{}
	one, err := pick(all, p.Scope)
	if err != nil && p.Codebase != "" {
		c.env.State = StateNotFound
		return c.unresolved(ctx, all, p.Scope, AsError(err))
	}
	if err == nil {
		c.about(one)
		report, err := c.inspect(ctx, one, options)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	} else {
		for _, b := range all {
			report, err := c.inspect(ctx, b, CheckOptions{Mode: ModeEventual})
			if err != nil {
				return err
			}
			reports = append(reports, report)
		}
		*c.env = *unspoken(c.env)
	}
	c.env.Codebases = &reports
	c.env.TotalCount, c.env.ReturnedCount = len(reports), len(reports)
	return nil
}

// unspoken clears what the envelope says of one codebase.
func unspoken(e *Envelope) *Envelope {
	fresh := newEnvelope()
	fresh.Warnings, fresh.NextSteps = e.Warnings, e.NextSteps
	return fresh
}

func (c *call) inspect(ctx context.Context, b store.Codebase, o CheckOptions) (CodebaseStatus, error) {
	if o.Mode != ModeEventual {
		o.MaxWait = -1
	}
	reading, err := c.check(ctx, b, o)
	if err != nil {
		known := AsError(err)
		c.warn(string(known.Code), b.Name+": "+known.Message)
		c.env.Freshness.Reason = known.Message
	}
	facts, err := c.Inspector.Inspect(ctx, b.ID)
	if store.IsDamage(err) { // the others are shown all the same
		known := AsError(err)
		c.env.NextSteps = append(c.env.NextSteps, commandStep("freshet verify "+string(b.ID)+" --repair", "makes what is damaged again from the files on disk"))
		return CodebaseStatus{
			Codebase: refOf(b, ""), Freshness: c.env.Freshness, State: StateIndexFailed, Failure: known.Message, Degraded: known.Message,
			Parked: []ParkedFile{}, Counts: CodebaseCounts{LeftOut: map[store.LeftOut]int{}},
		}, nil
	}
	if err != nil {
		return CodebaseStatus{}, err
	}
	running := reading.Running
	if running == nil {
		running = facts.Running
	}
	report := CodebaseStatus{
		Codebase: refOf(facts.Codebase, c.env.Codebase.Ref), Freshness: c.env.Freshness,
		State:     stateOf(facts.Codebase, running, len(reading.Verdict.Requires) > 0),
		Operation: running, Failure: facts.Codebase.Failure,
		Counts: facts.Counts, Parked: parkedFiles(facts.Parked), Lag: facts.Lag, Log: facts.Log,
		Degraded: facts.Degraded, Watch: facts.Watch,
	}
	if report.Counts.LeftOut == nil {
		report.Counts.LeftOut = map[store.LeftOut]int{}
	}
	if facts.Serving != nil {
		report.Codebase.Ref = facts.Serving.Ref
	}
	c.env.State, c.env.Operation = report.State, running
	return report, nil
}

func parkedFiles(failures []store.Failure) []ParkedFile {
	files := make([]ParkedFile, 0, len(failures))
	for _, f := range failures {
		files = append(files, ParkedFile{
			Path: merkle.QuotePath(f.Path), Stage: f.Stage, Tries: f.Tries,
			Parked: f.Parked, Reason: f.Reason, At: f.At,
		})
	}
	return files
}

// whyKept has a story say what the verdict says of the path: that it, or a directory above
// it, could not be read, so that the index has it as it was read last.
func (c *call) whyKept(b store.Codebase, r Reading, report *WhyReport) {
	for _, kept := range r.Verdict.Kept {
		if report.Path != kept && !strings.HasPrefix(report.Path, kept+"/") {
			continue
		}
		report.Searchable = false
		report.Steps = append(report.Steps, WhyStep{Step: "kept", Detail: merkle.QuotePath(kept) +
			" cannot be read, or changes while it is read; the index has it as it was last read"})
		c.env.NextSteps = []NextStep{commandStep("ls -ld "+ShellWord(filepath.Join(b.Root, kept)),
			"shows whose it is; give this user the right to read it")}
		return
	}
}

// why tells the story of one path.
func (c *call) why(ctx context.Context, p WhyParams) error {
	if p.Path == "" {
		return Invalid("path", "is missing")
	}
	scope := p.Scope
	if scope.Codebase == "" {
		scope.Codebase = absoluteTarget(p.Path)
	}
	b, err := c.resolve(ctx, scope)
	if err != nil {
		return err
	}
	paths, err := within(b, p.Path, p.CWD)
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeVerified, MaxWait: DefaultMaxWait})
	if err != nil {
		return err
	}
	var report WhyReport
	for _, path := range paths {
		report, err = c.Inspector.Why(ctx, b.ID, path)
		if err == nil {
			break
		}
		if AsError(err).Code != CodePathNotFound {
			return err
		}
	}
	if err != nil {
		return err
	}
	c.whyKept(b, reading, &report)
	report.Path = merkle.QuotePath(report.Path)
	if report.Steps == nil {
		report.Steps = []WhyStep{}
	}
	if report.Events == nil {
		report.Events = []LogEvent{}
	}
	if reading.Verdict.State == search.Behind {
		c.partial()
	}
	c.env.Why = &report
	return nil
}

func (c *call) stateOfOne(ctx context.Context, _ store.Codebase, p listParams) error {
	if err := c.status(ctx, StatusParams{Scope: p.Scope, Demand: p.Demand}); err != nil {
		return err
	}
	return c.mustRequire()
}

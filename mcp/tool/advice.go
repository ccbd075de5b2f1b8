package tool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// advise gives an error the calls that lead out of it, when whoever made it gave none. Each
// is made of values that exist, so that it can be made word for word. Where there is no such
// call the error has none: its text, and retry_after_ms, say what to do.
func (c *call) advise(ctx context.Context, e *Error) {
	if e.Code == CodeInternal {
		id := make([]byte, 8)
		_, _ = rand.Read(id) // never fails
		e.Details["trace_id"] = hex.EncodeToString(id)
	}
	id := string(c.env.Codebase.ID)
	if id != "" && store.IsDamage(e.Cause) {
		e.NextSteps = []NextStep{commandStep("freshet verify "+id+" --repair", "compares the index with the tree and sets right what differs")}
	}
	if e.Code == CodeInvalidArgument && c.tool != "" {
		c.correct(ctx, e)
		return
	}
	if len(e.NextSteps) > 0 {
		return
	}
	switch e.Code {
	case CodeInternal, CodeStoreUnavailable:
		e.NextSteps = []NextStep{commandStep("freshet doctor", "examines the installation and names what is wrong")}
	case CodePermissionDenied, CodeBusUnavailable:
		e.NextSteps = []NextStep{c.look(ListHealth, "tells what is wrong")}
	case CodeIndexing, CodeOperationInProgress:
		e.NextSteps = []NextStep{progressStep(id)}
	}
	if c.tool == "" || len(e.NextSteps) > 0 {
		return
	}
	switch e.Code {
	case CodeNotIndexed:
		e.NextSteps = []NextStep{manageStep(ActionCreate, id, "indexes it")}
	case CodeRequiresReindex:
		e.NextSteps = []NextStep{manageStep(ActionReindex, id, "rebuilds the index under the recipe in force")}
	case CodeIndexFailed:
		e.NextSteps = []NextStep{manageStep(ActionSync, id, "tries again; what was done is not done twice")}
	case CodeTargetNotFound, CodePathNotFound:
		e.NextSteps = []NextStep{c.look(ListState, "tells what there is")}
	case CodeEmbedderUnavailable:
		e.NextSteps = []NextStep{c.again(map[string]any{"mode": string(search.ModeText)}, "ranks by words, without vectors")}
	case CodeStaleTimeout:
		if c.tool == ToolSearch {
			e.NextSteps = []NextStep{c.again(map[string]any{"freshness": string(ModeEventual)}, "answers from the last sealed snapshot, unchecked")}
		}
	}
}

// unresolved gives the error of a call that names no codebase, or several, the codebases
// that it may mean: the candidates, those of the caller's directories, and what of these can
// be registered. missing is the path that lies in no codebase, "" for a name.
func (c *call) unresolved(ctx context.Context, all []store.Codebase, s Scope, e *Error) *Error {
	shown, _ := e.Details["path"].(string)
	missing, err := merkle.UnquotePath(shown)
	if err != nil {
		missing = shown
	}
	given := slices.Concat(s.ClientRoots, []string{s.CWD})
	var meant []store.Codebase
	switch {
	case e.Code == CodeAmbiguousCodebase:
		refs, _ := e.Details["candidates"].([]CodebaseRef)
		meant = slices.Clone(all)
		meant = slices.DeleteFunc(meant, func(b store.Codebase) bool { return !slices.Contains(refs, refOf(b, "")) })
	case missing == "" || missing == c.scope.CWD || missing == c.scope.Codebase: // and not of a target
		for _, dir := range given {
			if b, err := containing(all, dir); err == nil {
				meant = append(meant, b)
			}
		}
	}
	if c.tool != "" {
		meant = slices.DeleteFunc(meant, func(b store.Codebase) bool { return b.Current == 0 }) // it would only say so
		for _, b := range meant[:min(len(meant), maxElsewhere)] {
			e = e.Next(c.again(map[string]any{"codebase": string(b.ID)}, "is about "+merkle.QuotePath(b.Root)))
		}
	}
	if e.Code == CodeCodebaseNotFound && (missing != "" || len(all) == 0) {
		for _, dir := range c.registrable(ctx, all, s, append([]string{missing}, given...)) {
			e = e.Next(createStep(dir))
		}
	}
	if len(all) > 0 {
		e = e.Next(listStep("shows every codebase with its id"))
	}
	return e
}

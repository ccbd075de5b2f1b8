package tool

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
)

// advise gives an error of a tool a next step when whoever made it gave none: the agent
// always learns which call to make.
func (c *call) advise(e *Error) {
	if e.Code == CodeInternal {
		id := make([]byte, 8)
		_, _ = rand.Read(id) // never fails
		e.Details["trace_id"] = hex.EncodeToString(id)
	}
	if c.tool == "" || len(e.NextSteps) > 0 {
		return
	}
	id := string(c.env.Codebase.ID)
	switch e.Code {
	case CodeNotIndexed:
		e.NextSteps = []NextStep{manageStep(ActionCreate, id, "indexes it")}
	case CodeIndexing, CodeOperationInProgress:
		e.NextSteps = []NextStep{progressStep(id)}
	case CodeRequiresReindex:
		e.NextSteps = []NextStep{manageStep(ActionReindex, id, "rebuilds the index under the recipe in force")}
	case CodeIndexFailed:
		e.NextSteps = []NextStep{manageStep(ActionSync, id, "tries again; what was done is not done twice")}
	case CodeInvalidArgument:
		e.NextSteps = []NextStep{c.corrected(e)}
	case CodePermissionDenied, CodeStoreUnavailable, CodeBusUnavailable:
		e.NextSteps = []NextStep{c.look(ListHealth, "tells what is wrong")}
	case CodeTargetNotFound, CodePathNotFound:
		e.NextSteps = []NextStep{c.look(ListOverview, "shows what there is")}
	case CodeEmbedderUnavailable:
		e.NextSteps = []NextStep{c.again(map[string]any{"mode": "text"}, "ranks by words, without vectors")}
	default:
		e.NextSteps = []NextStep{c.again(nil, "makes the call again")}
	}
}

// look is a view of the codebase that the call is about, or of all when there is none.
func (c *call) look(view, why string) NextStep {
	if c.env.Codebase.ID == "" {
		return listStep("shows every codebase that is registered")
	}
	return NextStep{ToolList, map[string]any{"codebase": string(c.env.Codebase.ID), "view": view}, why}
}

// again is the same call with some arguments changed.
func (c *call) again(change map[string]any, why string) NextStep {
	arguments := maps.Clone(c.repeat)
	if arguments == nil {
		arguments = map[string]any{}
	}
	maps.Copy(arguments, change)
	return NextStep{c.tool, arguments, why}
}

// corrected is the call with its wrong argument made right: the first allowed value, an
// example where one is required, or none.
func (c *call) corrected(e *Error) NextStep {
	field, _ := e.Details["field"].(string)
	if c.tool == ToolRead && field == "path" {
		field = "targets"
	}
	step := c.again(nil, "leaves the wrong argument out")
	delete(step.Arguments, field)
	examples := map[string]any{"query": "words to look for", "targets": []string{"path/to/file.go:1-40"}, "path": "path/inside"}
	if values, ok := e.Details["allowed"].([]string); ok && len(values) > 0 {
		step.Arguments[field], step.Why = values[0], "has an allowed value"
	} else if example, ok := examples[field]; ok {
		step.Arguments[field], step.Why = example, "has a value of the right form"
	}
	if field == "from" || field == "to" || field == "at" {
		return c.look(ListHistory, "lists the numbers of the retained snapshots")
	}
	return step
}

package tool

import (
	"fmt"
	"strings"
)

// ErrorText renders the error of an envelope for people, with what to do next on lines of
// their own. It is empty when there is none.
func ErrorText(e *Envelope) string {
	if e.Error == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "error: %s (%s)\n", oneLine(e.Error.Message), e.Error.Code)
	if values := words(e.Error.Details["allowed"]); len(values) > 0 {
		fmt.Fprintf(&b, "allowed: %s\n", strings.Join(values, ", "))
	}
	for _, candidate := range candidates(e.Error.Details["candidates"]) {
		fmt.Fprintf(&b, "candidate: %s\n", oneLine(candidate))
	}
	if near := words(e.Error.Details["near"]); len(near) > 0 {
		fmt.Fprintf(&b, "near: %s\n", oneLine(strings.Join(near, ", ")))
	}
	if e.Freshness.PendingCount > 0 {
		fmt.Fprintf(&b, "pending: %s\n", strings.Join(e.Freshness.PendingPaths, ", "))
	}
	writeSteps(&b, e.NextSteps)
	return b.String()
}

// candidates reads codebases or places, as they were made or as they came back from JSON.
func candidates(value any) []string {
	var out []string
	switch list := value.(type) {
	case []CodebaseRef:
		for _, ref := range list {
			out = append(out, fmt.Sprintf("%s  %s  %s", ref.ID, ref.Name, ref.Root))
		}
	case []any:
		for _, v := range list {
			if ref, ok := v.(map[string]any); ok {
				out = append(out, fmt.Sprintf("%v  %v  %v", ref["id"], ref["name"], ref["root"]))
			}
		}
		out = append(out, words(list)...)
	default:
		return words(value)
	}
	return out
}

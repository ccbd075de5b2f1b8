package tool

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/freshet/freshet/sync/merkle"
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

// words reads a list of strings, as it was made or as it came back from JSON.
func words(value any) []string {
	switch list := value.(type) {
	case []string:
		return list
	case []any:
		var out []string
		for _, v := range list {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
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

func writeSteps(b *strings.Builder, steps []NextStep) {
	for _, step := range steps {
		fmt.Fprintf(b, "next: %s  (%s)\n", oneLine(Command(step)), oneLine(step.Why))
	}
}

// Command is the command line that a next step amounts to.
func Command(step NextStep) string {
	argument := func(key string) string { return ShellWord(fmt.Sprint(step.Arguments[key])) }
	operand := func(key string) string {
		if strings.HasPrefix(fmt.Sprint(step.Arguments[key]), "-") {
			return " -- " + argument(key)
		}
		return " " + argument(key)
	}
	flags := func(keys ...string) string {
		line := ""
		for _, key := range keys {
			if value, ok := step.Arguments[key]; ok && value != "" {
				line += " --" + key + " " + argument(key)
			}
		}
		return line
	}
	switch step.Tool {
	case ToolCommandLine:
		return fmt.Sprint(step.Arguments["command"])
	case ToolManage:
		return manageCommand(step, argument)
	case ToolList:
		switch step.Arguments["view"] {
		case ListWhy:
			return "freshet why -- " + argument("path")
		case ListHistory:
			return "freshet snapshots " + argument("codebase")
		}
		if _, ok := step.Arguments["codebase"]; ok {
			return "freshet status " + argument("codebase")
		}
		return "freshet status"
	case ToolRead:
		line := "freshet read" // in the codebase: it has no flag for one
		if targets := words(step.Arguments["targets"]); slices.ContainsFunc(targets, func(t string) bool { return strings.HasPrefix(t, "-") }) {
			line += " --"
		}
		for _, target := range words(step.Arguments["targets"]) {
			line += " " + ShellWord(target)
		}
		return line
	case ToolSearch:
		return "freshet search" + flags("codebase", "mode") + operand("query")
	}
	return step.Tool + plainArguments(step.Arguments)
}

func manageCommand(step NextStep, argument func(string) string) string {
	action := fmt.Sprint(step.Arguments["action"])
	switch action {
	case ActionCreate:
		if _, ok := step.Arguments["path"]; ok {
			return "freshet index " + argument("path")
		}
		action = "sync"
	case ActionRepair:
		return "freshet verify " + argument("codebase") + " --repair"
	}
	line := "freshet " + action + " " + argument("codebase")
	if _, ok := step.Arguments["confirm"]; ok {
		line += " --confirm " + argument("confirm")
	}
	return line
}

func plainArguments(arguments map[string]any) string {
	keys := make([]string, 0, len(arguments))
	for key := range arguments {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	line := ""
	for _, key := range keys {
		line += fmt.Sprintf(" %s=%v", key, arguments[key])
	}
	return line
}

// ShellWord quotes an argument for a POSIX shell when it needs it. A quoted path is
// written as its bytes would have to be typed.
func ShellWord(s string) string {
	if raw, err := merkle.UnquotePath(s); err == nil {
		s = raw
	}
	safe := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,", r)
	}) < 0
	if safe {
		return s
	}
	if Visible(s) != s || strings.Contains(s, "\n") {
		return "$" + escapedWord(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// escapedWord writes bytes that no terminal shows as escapes.
func escapedWord(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

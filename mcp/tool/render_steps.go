package tool

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

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

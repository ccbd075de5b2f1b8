package tool

import (
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// The tools that next steps name. ToolCommandLine stands for the operator's verbs, which
// have no tool.
const (
	ToolSearch      = "search_codebase"
	ToolRead        = "read_code"
	ToolList        = "list_codebases"
	ToolCompare     = "compare_snapshots"
	ToolManage      = "manage_index"
	ToolCommandLine = "command_line"
)

func commandStep(command, why string) NextStep {
	return NextStep{ToolCommandLine, map[string]any{"command": command}, why}
}

func manageStep(action, codebase, why string) NextStep {
	return NextStep{ToolManage, map[string]any{"action": action, "codebase": codebase}, why}
}

func createStep(dir string) NextStep {
	return NextStep{ToolManage, map[string]any{"action": ActionCreate, "path": merkle.QuotePath(dir)}, "registers the directory and indexes it"}
}

func progressStep(codebase string) NextStep {
	return NextStep{ToolList, map[string]any{"codebase": codebase, "view": ListProgress, "wait_ms": 10000}, "waits for the progress"}
}

func historyStep(b store.Codebase) NextStep {
	return NextStep{ToolList, map[string]any{"codebase": string(b.ID), "view": ListHistory}, "lists the retained snapshots"}
}

func listStep(why string) NextStep {
	return NextStep{ToolList, map[string]any{"view": ListAll}, why}
}

// keptStep asks about a path that cannot be read and is served as it was read last.
func keptStep(b store.Codebase, path string) NextStep {
	return NextStep{ToolList, map[string]any{"codebase": string(b.ID), "view": ListWhy, "path": merkle.QuotePath(path)}, "tells why the path cannot be read"}
}

func whyStep(b store.Codebase, path string) NextStep {
	return NextStep{ToolList, map[string]any{"codebase": string(b.ID), "view": ListWhy, "path": merkle.QuotePath(path)}, "tells by which rule the path is left out"}
}

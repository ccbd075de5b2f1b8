package tool

import "maps"

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

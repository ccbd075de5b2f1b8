// Package tool owns the surface of freshet: the envelope that every answer comes in, the
// parameters and errors of every call, and the handlers behind them. A command-line verb,
// the host's socket and an MCP tool call the same handlers, so that a person, a script and
// an agent see the same thing.
//
// Calls between files run one way, and so may the reading: tools.go and dispatch.go; the
// handlers, each with the files of its prefix (search, read, compare, list_codebases with
// status, health and overview, manage); gate.go, which asks how fresh an answer is, with
// resolve.go and advice.go; detail.go and excerpt.go for what hits show; render.go and the
// files of its prefix for what is sent; and below all of them what they share (answer.go,
// lookup.go, arguments.go, names.go, text.go).
//
// The package speaks no protocol and opens no file. What it needs it declares as small
// interfaces, gathered in Backend; cmd/host fills them. Use Dispatch to call a verb or a
// tool by its name with JSON parameters, Render to write the answer of a tool as it is
// sent, and Markdown to write that of a verb for people. Tools describes the tools; the
// structs of their parameters are the only source of their schemas.
//
// A handler fills an envelope with everything that it found. Only then is the answer of a
// tool made: its items are projected to the verbosity (HitFields), cut to whole items that
// fit the budget, counted on the text that is sent, and last, in a session, what was shown
// before is collapsed. So the items of an answer depend on none of these but the budget.
package tool

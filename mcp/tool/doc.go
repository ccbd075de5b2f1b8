// Package tool owns the surface of freshet: the envelope that every answer comes in, the
// parameters and errors of every call, and the handlers behind them. A command-line verb,
// the host's socket and an MCP tool call the same handlers, so that a person, a script and
// an agent see the same thing.
//
// The package speaks no protocol and opens no file. What it needs it declares as small
// interfaces, gathered in Backend; cmd/host fills them. Use Dispatch to call a verb by its
// name with JSON parameters, and Markdown to render the envelope for people.
package tool

// Package mcpserver puts the tools of package tool behind the Model Context Protocol: over
// standard input and output for one client, and over streamable HTTP for many. It owns the
// protocol, the limits on what a client may send and how often, the telemetry of calls, and
// the reference that is generated from the tools' parameters.
//
// It leaves every answer to a Caller, which hands calls to tool.Dispatch: in this process,
// or over the socket of the host. Arguments reach it as the client wrote them, so that a
// misspelt one is an error that the model can read. Use New, then ServeStdio or ServeHTTP.
package mcpserver

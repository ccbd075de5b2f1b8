// Package host owns the one process that holds a data directory: its lock, its socket and
// the sessions on it. The host opens store, bus and parsers, wires the pipeline, the
// synchronizers and the packages that do the handlers' work (freshness, registry, operation,
// verify, inspect, maintenance), and serves the handlers of mcp/tool to other processes.
// Connect becomes the host or attaches to the one there is; when the host ends, an attached
// process takes over.
package host

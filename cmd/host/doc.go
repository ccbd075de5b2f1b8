// Package host owns the one process that holds a data directory: by its lock it owns store,
// bus, synchronizers and workers, wires them together, implements what the handlers of
// mcp/tool need, and serves them to other processes on a socket. Connect becomes the host
// or attaches to the one there is; when the host ends, an attached process takes over.
package host

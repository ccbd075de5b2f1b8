// Package cli is freshet's command line: it turns arguments into calls of the verbs of
// mcp/tool, shows their progress on stderr and their answers on stdout, and gives the exit
// code. It reaches the index through a Session only, so it never opens a store or a log.
package cli

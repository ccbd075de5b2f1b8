package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// entry is the name of the server in the configuration of a client.
const entry = "freshet"

// agentClient is a program that runs agents, and how it is told of a server.
type agentClient struct {
	name, title string
	// file is its configuration: below the user's home, or the working directory for a
	// client that is configured for each project; "" for one that is not known.
	file    string
	project bool
	// table is the member of the configuration that holds servers.
	table string
	toml  bool
	// kind is set where an entry must name its transport.
	kind bool
}

// agentClients lists the clients in the order in which they are documented.
func agentClients() []agentClient {
	return []agentClient{
		{name: "claude-code", title: "Claude Code", file: ".mcp.json", project: true, table: "mcpServers"},
		{name: "claude-desktop", title: "Claude Desktop", file: ".config/Claude/claude_desktop_config.json", table: "mcpServers"},
		{name: "cursor", title: "Cursor", file: ".cursor/mcp.json", table: "mcpServers"},
		{name: "vscode", title: "VS Code", file: ".vscode/mcp.json", project: true, table: "servers", kind: true},
		{name: "codex", title: "Codex", file: ".codex/config.toml", table: "mcp_servers", toml: true},
		{name: "generic", title: "Any other client", table: "mcpServers"},
	}
}

func clientNames() []string {
	var names []string
	for _, c := range agentClients() {
		names = append(names, c.name)
	}
	return names
}

func findClient(name string) (agentClient, bool) {
	all := agentClients()
	at := slices.IndexFunc(all, func(c agentClient) bool { return c.name == name })
	if at < 0 {
		return agentClient{}, false
	}
	return all[at], true
}

// path is where the configuration stands.
func (c agentClient) path(home, dir string) string {
	if c.file == "" {
		return ""
	}
	if c.project {
		return filepath.Join(dir, filepath.FromSlash(c.file))
	}
	return filepath.Join(home, filepath.FromSlash(c.file))
}

// server is the entry for a program, without its name.
func (c agentClient) server(program string) map[string]any {
	server := map[string]any{"command": program, "args": []string{"mcp"}}
	if c.kind {
		server["type"] = "stdio"
	}
	return server
}

// snippet is what belongs into an empty configuration.
func (c agentClient) snippet(program string) string {
	if c.toml {
		return c.tomlTable(program)
	}
	return indented(map[string]any{c.table: map[string]any{entry: c.server(program)}}) + "\n"
}

func (c agentClient) tomlTable(program string) string {
	return "[" + c.table + "." + entry + "]\ncommand = " + tomlString(program) + "\nargs = [\"mcp\"]\n"
}

// tomlString writes a basic string. What JSON escapes, TOML escapes so too.
func tomlString(text string) string { return encoded(text) }

func indented(value any) string {
	return encodedBy(value, func(e *json.Encoder) { e.SetIndent("", "  ") })
}

func encoded(value any) string { return encodedBy(value, func(*json.Encoder) {}) }

func encodedBy(value any, set func(*json.Encoder)) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	set(encoder)
	if err := encoder.Encode(value); err != nil {
		panic(err) // maps, lists and strings
	}
	return strings.TrimSuffix(b.String(), "\n")
}

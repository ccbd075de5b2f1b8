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
	// httpFile is the configuration, below the user's home, that is told of a server over
	// HTTP: never one that belongs to a project, since it holds the token. It is "" for a
	// client that takes no such server from a file.
	httpFile string
	// table is the member of the configuration that holds servers.
	table string
	toml  bool
	// kind is set where an entry must name its transport, httpKind where one over HTTP must.
	kind, httpKind bool
}

// reach is how a client reaches the server: by starting a program, or at an address.
type reach struct {
	program string
	// url is the address, "" for a program, and token what is presented there, "" for nothing.
	url, token string
}

// agentClients lists the clients in the order in which they are documented.
func agentClients() []agentClient {
	return []agentClient{
		{name: "claude-code", title: "Claude Code", file: ".mcp.json", project: true, httpFile: ".claude.json", table: "mcpServers", httpKind: true},
		{name: "claude-desktop", title: "Claude Desktop", file: ".config/Claude/claude_desktop_config.json", table: "mcpServers"},
		{name: "cursor", title: "Cursor", file: ".cursor/mcp.json", httpFile: ".cursor/mcp.json", table: "mcpServers"},
		{name: "vscode", title: "VS Code", file: ".vscode/mcp.json", project: true, httpFile: ".config/Code/User/mcp.json", table: "servers", kind: true, httpKind: true},
		{name: "codex", title: "Codex", file: ".codex/config.toml", httpFile: ".codex/config.toml", table: "mcp_servers", toml: true},
		{name: "generic", title: "Any other client", table: "mcpServers", httpKind: true},
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

// path is where the configuration stands that tells of a server in a way; "" where none does.
func (c agentClient) path(home, dir string, at reach) string {
	switch {
	case at.url != "" && c.httpFile != "":
		return filepath.Join(home, filepath.FromSlash(c.httpFile))
	case at.url != "" || c.file == "":
		return ""
	case c.project:
		return filepath.Join(dir, filepath.FromSlash(c.file))
	}
	return filepath.Join(home, filepath.FromSlash(c.file))
}

// server is the entry for a server, without its name.
func (c agentClient) server(at reach) map[string]any {
	if at.url == "" {
		server := map[string]any{"command": at.program, "args": []string{"mcp"}}
		if c.kind {
			server["type"] = "stdio"
		}
		return server
	}
	server := map[string]any{"url": at.url}
	if c.httpKind {
		server["type"] = "http"
	}
	if at.token != "" {
		server["headers"] = map[string]any{"Authorization": "Bearer " + at.token}
	}
	return server
}

// snippet is what belongs into an empty configuration.
func (c agentClient) snippet(at reach) string {
	if c.toml {
		return c.tomlTable(at)
	}
	return indented(map[string]any{c.table: map[string]any{entry: c.server(at)}}) + "\n"
}

func (c agentClient) tomlTable(at reach) string {
	header := "[" + c.table + "." + entry + "]\n"
	if at.url == "" {
		return header + "command = " + tomlString(at.program) + "\nargs = [\"mcp\"]\n"
	}
	table := header + "url = " + tomlString(at.url) + "\n"
	if at.token != "" {
		table += "http_headers = { Authorization = " + tomlString("Bearer "+at.token) + " }\n"
	}
	return table
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

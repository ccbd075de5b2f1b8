package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// scopeCaller hands out the scope of each call that it takes.
type scopeCaller chan tool.Scope

func (c scopeCaller) Call(_ context.Context, _ string, params any, _ tool.Observer) (*tool.Envelope, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	var s tool.Scope
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	c <- s
	return tool.Succeeded(tool.Report{}), nil
}

// dialStdio connects the SDK's own client to a server of one client.
func dialStdio(t *testing.T, server *Server, roots ...string) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.ServeStdio(t.Context(), fromClient, toClient) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, uri := range roots {
		//lint:ignore SA1019 clients name their roots by this list
		client.AddRoots(&mcp.Root{URI: uri})
	}
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = toClient.Close()
	})
	return session
}

// The roots of the client, the directories of the operator and the working directory go
// with a call that names a directory; no other call has the client asked.
func TestCallsThatNameADirectoryCarryTheRootsThatWereGiven(t *testing.T) {
	t.Parallel()
	caller := make(scopeCaller, 1)
	server := newServer(t, caller, Options{Dir: "/work/dir", AllowRoots: []string{"/operator"}})
	session := dialStdio(t, server, "file:///src/web", "file:///with%20space", "https://example.com/x", "file://elsewhere/x")
	call := func(name string, arguments map[string]any) tool.Scope {
		t.Helper()
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
		return <-caller
	}
	got := call(tool.ToolManage, map[string]any{"action": "create", "path": "/src/web"})
	slices.Sort(got.ClientRoots)
	if got.CWD != "/work/dir" || !slices.Equal(got.AllowRoots, []string{"/operator"}) || !slices.Equal(got.ClientRoots, []string{"/src/web", "/with space"}) {
		t.Errorf("create carries %+v", got)
	}
	if got := call(tool.ToolSearch, map[string]any{"query": "x"}); got.CWD != "/work/dir" || got.AllowRoots != nil || got.ClientRoots != nil {
		t.Errorf("a search carries %+v", got)
	}
}

// homelessCaller finds no codebase and hands out the scopes of its calls.
type homelessCaller struct{ scopeCaller }

func (c homelessCaller) Call(ctx context.Context, name string, params any, observe tool.Observer) (*tool.Envelope, error) {
	if _, err := c.scopeCaller.Call(ctx, name, params, observe); err != nil {
		return nil, err
	}
	return tool.Failed(tool.Errorf(tool.CodeCodebaseNotFound, "none")), nil
}

// A call that finds no codebase is made once more with the client's roots, so that its answer
// can offer them: a desktop client starts in / or in a home.
func TestCallsThatFindNoCodebaseCarryTheRoots(t *testing.T) {
	t.Parallel()
	caller := homelessCaller{make(scopeCaller, 2)}
	server := newServer(t, caller, Options{Dir: "/", AllowRoots: []string{"/operator"}})
	session := dialStdio(t, server, "file:///src/web")
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.ToolSearch, Arguments: map[string]any{"query": "x"}}); err != nil {
		t.Fatal(err)
	}
	<-caller.scopeCaller
	if got := <-caller.scopeCaller; got.CWD != "/" || !slices.Equal(got.ClientRoots, []string{"/src/web"}) || !slices.Equal(got.AllowRoots, []string{"/operator"}) {
		t.Errorf("the second call carries %+v", got)
	}
}

// A client cannot give itself what only its transport may say, in no spelling of it.
func TestClientsCannotGiveThemselvesRoots(t *testing.T) {
	t.Parallel()
	caller := make(scopeCaller, 1)
	session := dialStdio(t, newServer(t, caller, Options{Dir: "/work/dir"}))
	for _, member := range append(tool.LocalMembers(), "CWD", "Allow_Roots", "ALLOW_ROOTS", "client_root\u017f", "allow_root\u017f") {
		for _, value := range []any{"/etc", []string{"/etc"}, nil} {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: tool.ToolManage, Arguments: map[string]any{"action": "create", "path": "/etc", member: value},
			})
			if err == nil && !result.IsError {
				t.Errorf("%s %v was taken: %+v", member, value, <-caller)
			}
		}
	}
}

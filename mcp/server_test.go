package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// client connects the SDK's client to a server.
func client(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := s.ServeStdio(t.Context(), in, out)
		served <- errors.Join(err, out.Close())
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return session
}

func callTool(t *testing.T, session *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestReference is what `freshet docs --check` does.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("TOOLS.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), text); diff != "" {
		t.Errorf("TOOLS.md is stale, run `make docs`: -file +tools\n%s", diff)
	}
	if size, err := ListingSize(); err != nil || size > MaxListing {
		t.Errorf("the list of tools has %d characters, %v", size, err)
	}
	if n := len([]rune(Instructions())); n >= 1200 {
		t.Errorf("the instructions have %d characters", n)
	}
}

// TestListing checks that a client is told what package tool says, in ASCII, and the same
// by every server.
func TestListing(t *testing.T) {
	t.Parallel()
	var before string
	for _, caller := range []worldCaller{newWorldCaller(), indexed(t)} {
		result, err := client(t, newServer(t, caller, Options{})).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(result.Tools)
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && string(data) != before {
			t.Error("two servers list different tools")
		}
		before = string(data)
		if strings.ContainsFunc(before, func(r rune) bool { return r > 126 || r < 32 }) {
			t.Error("the list of tools is not plain ASCII")
		}
		for _, described := range tool.Tools() {
			i := 0
			for i < len(result.Tools) && result.Tools[i].Name != described.Name {
				i++
			}
			if i == len(result.Tools) {
				t.Fatalf("%s is not listed", described.Name)
			}
			got, want := result.Tools[i].Annotations, described.Annotations
			if got.ReadOnlyHint != want.ReadOnly || *got.DestructiveHint != want.Destructive ||
				got.IdempotentHint != want.Idempotent || *got.OpenWorldHint != want.OpenWorld {
				t.Errorf("%s is listed with %+v", described.Name, got)
			}
			if described.Annotations.Reason == "" {
				t.Errorf("%s does not say why it is annotated so", described.Name)
			}
		}
	}
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	for _, text := range []bool{false, true} {
		var written bytes.Buffer
		session := client(t, newServer(t, indexed(t), Options{Dir: root, Telemetry: &written, QueryText: text}))
		callTool(t, session, tool.ToolSearch, map[string]any{"query": "Retry"})
		callTool(t, session, tool.ToolSearch, map[string]any{"query": ""})
		callTool(t, session, tool.ToolRead, map[string]any{"targets": []string{"main.go"}})
		const token = "ghp_9f2KxQ7mZp4LwT8vRn3BcY6hJd5GsA1eUoXi"
		callTool(t, session, tool.ToolSearch, map[string]any{"query": "unheard " + token})
		if strings.Contains(written.String(), token) || text && !strings.Contains(written.String(), "unheard") {
			t.Errorf("with the opt-in %v, a query with a credential stands in %s", text, written.String())
		}
		var lines []record
		for line := range bytes.Lines(written.Bytes()) {
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			lines = append(lines, r)
		}
		if len(lines) != 4 {
			t.Fatalf("%d lines for 4 calls", len(lines))
		}
		if len(lines[0].Warnings) != 0 || !slices.Contains(lines[3].Warnings, "no_hits") {
			t.Errorf("warnings of a hit and a miss are reported as %v and %v", lines[0].Warnings, lines[3].Warnings)
		}
		first := lines[0]
		if first.Tool != tool.ToolSearch || first.Freshness != "current" || first.Snapshot != 1 || first.Results == 0 ||
			first.Tokens == 0 || len(first.QueryHash) != 16 || first.Error != "" {
			t.Errorf("a search is reported as %+v", first)
		}
		if (first.Query == "Retry") != text || strings.Contains(written.String(), "Retry") != text {
			t.Errorf("with the opt-in %v, the query stands in %s", text, written.String())
		}
		if lines[1].Error != tool.CodeInvalidArgument {
			t.Errorf("a bad search is reported as %+v", lines[1])
		}
		if strings.Contains(written.String(), root) || strings.Contains(written.String(), "main.go") {
			t.Errorf("the telemetry holds a path: %s", written.String())
		}
	}
}

// TestStructured checks structured content against the schema that it comes with.
func TestStructured(t *testing.T) {
	t.Parallel()
	session := client(t, newServer(t, indexed(t), Options{Dir: root, Structured: true}))
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(listed.Tools[0].OutputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]any{
		tool.ToolSearch: map[string]any{"query": "Retry"}, tool.ToolRead: map[string]any{"targets": []string{"gone.go"}},
		tool.ToolList: map[string]any{}, tool.ToolCompare: map[string]any{"from": 1}, tool.ToolManage: map[string]any{"action": "sync"},
	} {
		result := callTool(t, session, name, arguments)
		if result.StructuredContent == nil {
			t.Errorf("%s sends no structured content", name)
		}
		if err := resolved.Validate(result.StructuredContent); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// failing reaches nothing.
type failing struct{ err error }

func (f failing) Call(context.Context, string, any, tool.Observer) (*tool.Envelope, error) {
	return nil, f.err
}

// TestUnreachable has the model read why the index could not be asked.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	cases := map[tool.Code]error{
		tool.CodeStoreUnavailable: errors.New("the socket is gone"),
		tool.CodePermissionDenied: tool.Errorf(tool.CodePermissionDenied, "not yours"),
	}
	for code, err := range cases {
		session := client(t, newServer(t, failing{err}, Options{}))
		result := callTool(t, session, tool.ToolSearch, map[string]any{"query": "a"})
		text, ok := result.Content[0].(*mcp.TextContent)
		if !result.IsError || !ok || !strings.Contains(text.Text, string(code)) {
			t.Errorf("%v is told as %+v", err, result.Content[0])
		}
	}
}

// TestProgress passes notices on in increasing order.
func TestProgress(t *testing.T) {
	t.Parallel()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	server := newServer(t, noisy{}, Options{})
	served := make(chan error, 1)
	go func() { served <- errors.Join(server.ServeStdio(t.Context(), in, out), out.Close()) }()
	seen := make(chan float64, 16)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { seen <- r.Params.Progress },
	}).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	params := &mcp.CallToolParams{Name: tool.ToolManage, Arguments: map[string]any{}}
	params.SetProgressToken("p")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for range 3 {
		if done := <-seen; done <= last {
			t.Errorf("%v after %v", done, last)
		} else {
			last = done
		}
	}
	_ = session.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// noisy reports progress that does not progress.
type noisy struct{}

func (noisy) Call(_ context.Context, _ string, _ any, observe tool.Observer) (*tool.Envelope, error) {
	for _, sealed := range []int{0, 5, 5} {
		o := tool.Operation{Counts: tool.Counts{FilesTotal: 10, FilesSealed: sealed}}
		if err := observe(tool.Notice{Operation: &o}); err != nil {
			return nil, err
		}
	}
	return tool.Succeeded(tool.Report{}), nil
}

// TestStopped ends a server whose client neither hangs up nor cancels.
func TestStopped(t *testing.T) {
	t.Parallel()
	caller := newWorldCaller()
	server := newServer(t, caller, Options{})
	ctx, stop := context.WithCancel(t.Context())
	in, toServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.ServeStdio(ctx, in, io.Discard) }()
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if _, err := io.WriteString(toServer, hello+"\n"+searchBody("block")+"\n"); err != nil {
		t.Fatal(err)
	}
	<-caller.blocked
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	<-caller.ended
	_ = toServer.Close()
}

// Package mcptest is a client of the Model Context Protocol for tests and measurements of
// the program from outside: over the standard input and output of a process, or over HTTP.
package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// Client is connected to a server. It may be used from several goroutines.
type Client struct {
	session *mcp.ClientSession
}

// Command starts a server and speaks to it over its standard input and output.
func Command(ctx context.Context, cmd *exec.Cmd) (*Client, error) {
	return connect(ctx, &mcp.CommandTransport{Command: cmd, TerminateDuration: 20 * time.Second}, nil)
}

// HTTP speaks to a server at an address, with a bearer token unless that is empty.
func HTTP(ctx context.Context, url, token string) (*Client, error) {
	return connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1,
	}, nil)
}

// Progress is Command with a function that takes the notices of progress.
func Progress(ctx context.Context, cmd *exec.Cmd, notice func(done float64)) (*Client, error) {
	return connect(ctx, &mcp.CommandTransport{Command: cmd}, func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		notice(req.Params.Progress)
	})
}

func connect(ctx context.Context, transport mcp.Transport, notice func(context.Context, *mcp.ProgressNotificationClientRequest)) (*Client, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "mcptest", Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: notice})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return &Client{session}, nil
}

// bearer adds a token to each request.
type bearer struct{ token string }

// RoundTrip makes a request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Answer is what a tool said.
type Answer struct {
	Text    string
	IsError bool
}

// Call calls a tool. Ending ctx cancels the call.
func (c *Client) Call(ctx context.Context, name string, arguments map[string]any) (Answer, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken(name)
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return Answer{}, fmt.Errorf("call %s: %w", name, err)
	}
	var text strings.Builder
	for _, content := range result.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return Answer{text.String(), result.IsError}, nil
}

// Ask calls a tool for JSON and decodes its envelope. An error in the envelope is returned.
func (c *Client) Ask(ctx context.Context, name string, arguments map[string]any) (*tool.Envelope, error) {
	asked := map[string]any{"format": "json"}
	for key, value := range arguments {
		asked[key] = value
	}
	answer, err := c.Call(ctx, name, asked)
	if err != nil {
		return nil, err
	}
	var envelope tool.Envelope
	if err := json.Unmarshal([]byte(answer.Text), &envelope); err != nil {
		return nil, fmt.Errorf("decode the answer of %s: %w: %.200s", name, err, answer.Text)
	}
	if envelope.Error != nil {
		return &envelope, envelope.Error
	}
	return &envelope, nil
}

// Index registers and indexes a directory and waits until it is sealed.
func (c *Client) Index(ctx context.Context, dir string) error {
	if _, err := c.Ask(ctx, tool.ToolManage, map[string]any{"action": "create", "path": dir}); err != nil {
		return err
	}
	for {
		envelope, err := c.Ask(ctx, tool.ToolSearch, map[string]any{
			"codebase": dir, "query": "a", "freshness": "strict", "max_wait_ms": 30000,
		})
		var known *tool.Error
		switch {
		case err == nil && envelope.Freshness.Level == "full":
			return nil
		case err != nil && !errors.As(err, &known):
			return err
		case known != nil && !known.Retryable:
			return err
		}
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// Tools returns the names of the tools, and the list as JSON.
func (c *Client) Tools(ctx context.Context) (names []string, listed []byte, err error) {
	result, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range result.Tools {
		names = append(names, t.Name)
	}
	listed, err = json.Marshal(result.Tools)
	return names, listed, err
}

// Revision is that of the protocol that was agreed on.
func (c *Client) Revision() string { return c.session.InitializeResult().ProtocolVersion }

// Close hangs up and waits for the server that Command started to end.
func (c *Client) Close() error { return c.session.Close() }

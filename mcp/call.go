package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// handle answers one call of a tool. Every failure is a result that the model can read, never
// an error of the protocol.
func (s *Server) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.calls.Add(1)
	defer s.calls.Done()
	started := s.opts.Now()
	ctx, stop := cancelWithRequest(ctx)
	defer stop()
	envelope := s.answer(ctx, req)
	text := tool.Render(envelope, formatOf(req.Params.Arguments))
	result := &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}},
		IsError: envelope.Error != nil,
	}
	if s.opts.Structured {
		result.StructuredContent = json.RawMessage(tool.JSON(envelope))
	}
	s.report(req, envelope, text, s.opts.Now().Sub(started))
	return result, nil
}

// answer makes the call after waiting in the fair queue. It refuses the call when too many of
// the client wait.
func (s *Server) answer(ctx context.Context, req *mcp.CallToolRequest) *tool.Envelope {
	peer, connection := s.clientOf(ctx)
	release, busy := s.limit.acquire(ctx, peer, connection)
	if busy != nil {
		return tool.Failed(busy)
	}
	defer release()
	arguments, err := s.arguments(req.Params.Arguments, func() []string { return clientRoots(ctx, req) })
	if err != nil {
		return tool.Failed(err)
	}
	envelope, err := s.caller.Call(ctx, req.Params.Name, arguments, progress(ctx, req))
	if err == nil && homeless(envelope) { // what it is told depends on where the client works
		if arguments, err = s.withRoots(arguments, func() []string { return clientRoots(ctx, req) }); err == nil {
			envelope, err = s.caller.Call(ctx, req.Params.Name, arguments, progress(ctx, req))
		}
	}
	if err != nil {
		return tool.Failed(unreachable(err))
	}
	return envelope
}

// homeless reports whether an answer says that there is no codebase to speak of.
func homeless(e *tool.Envelope) bool {
	return e.Error != nil && e.Error.Code == tool.CodeCodebaseNotFound || e.Registered != nil && len(*e.Registered) == 0
}

// unreachable returns the error for an index that cannot be reached.
func unreachable(err error) *tool.Error {
	var known *tool.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return tool.AsError(err)
	}
	return tool.Errorf(tool.CodeStoreUnavailable, "%w", err).RetryAfter(1000)
}

// arguments returns the client's arguments with those that only the transport knows: the
// working directory of a local client, and the directories below which it may register.
func (s *Server) arguments(raw json.RawMessage, roots func() []string) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		raw = json.RawMessage("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, tool.Invalid("arguments", "must be one JSON object")
	}
	for given := range members {
		for _, local := range tool.LocalMembers() {
			if strings.EqualFold(given, local) { // as decoding JSON compares them
				return nil, tool.Invalid(given, "unknown argument")
			}
		}
	}
	if s.opts.Dir != "" {
		var err error
		if raw, err = joined(members, map[string]any{"cwd": s.opts.Dir}); err != nil {
			return nil, err
		}
	}
	if _, named := members["path"]; named { // only a call that names a directory asks for more
		return s.withRoots(raw, roots)
	}
	return raw, nil
}

// withRoots adds the directories below which the client may register to a call.
func (s *Server) withRoots(raw json.RawMessage, roots func() []string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	return joined(members, map[string]any{"allow_roots": s.opts.AllowRoots, "client_roots": roots()})
}

// joined adds what only the transport says to the members of a call.
func joined(members map[string]json.RawMessage, local map[string]any) (json.RawMessage, error) {
	for name, value := range local {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		members[name] = data
	}
	return json.Marshal(members)
}

// rootsTimeout bounds how long a client may take to list its roots.
const rootsTimeout = 5 * time.Second

// clientRoots returns the roots that the client lists, none when it does not offer roots or
// cannot be asked, as over HTTP.
func clientRoots(ctx context.Context, req *mcp.CallToolRequest) []string {
	params := req.Session.InitializeParams()
	//lint:ignore SA1019 clients that name their roots do so by this list, and go on for a year
	if params == nil || params.Capabilities == nil || params.Capabilities.RootsV2 == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	//lint:ignore SA1019 see above
	listed, err := req.Session.ListRoots(ctx, nil)
	if err != nil {
		return nil
	}
	var roots []string
	for _, root := range listed.Roots {
		if at, err := url.Parse(root.URI); err == nil && at.Scheme == "file" && (at.Host == "" || at.Host == "localhost") && filepath.IsAbs(at.Path) {
			roots = append(roots, at.Path)
		}
	}
	return roots
}

// formatOf returns the format that the arguments name, "" when they cannot be decoded.
func formatOf(raw json.RawMessage) string {
	var wanted struct {
		Format string `json:"format"`
	}
	if json.Unmarshal(raw, &wanted) != nil {
		return ""
	}
	return wanted.Format
}

// progress forwards the progress of a call to a client that sent a progress token. It ignores
// a client that is gone: the call's context ends then.
func progress(ctx context.Context, req *mcp.CallToolRequest) tool.Observer {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(tool.Notice) error { return ctx.Err() }
	}
	highest := 0.0
	return func(n tool.Notice) error {
		if n.Operation == nil {
			return ctx.Err()
		}
		done := 100 * n.Operation.Fraction()
		if done <= highest { // the protocol wants it to increase with each notice
			done = highest + 0.001
		}
		highest = done
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: 100, Message: string(n.Operation.Kind) + ": " + string(n.Operation.Phase),
		})
		return ctx.Err()
	}
}

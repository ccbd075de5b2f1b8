package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/freshet/freshet/mcp/tool"
)

// handle answers one call of a tool. Whatever goes wrong is a result that the model reads,
// never an error of the protocol.
func (s *Server) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.calls.Add(1)
	defer s.calls.Done()
	started := s.opts.Now()
	ctx, stop := untilGone(ctx)
	defer stop()
	envelope := s.answer(ctx, req)
	text := tool.Render(envelope, formatOf(req.Params.Arguments))
	result := &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}},
		IsError: envelope.Error != nil,
	}
	if s.opts.Structured {
		result.StructuredContent = envelope
	}
	s.report(req, envelope, text, s.opts.Now().Sub(started))
	return result, nil
}

// answer makes the call, unless the client has too many under way.
func (s *Server) answer(ctx context.Context, req *mcp.CallToolRequest) *tool.Envelope {
	release, busy := s.limit.acquire(clientOf(ctx, req))
	if busy != nil {
		return tool.Failed(busy)
	}
	defer release()
	arguments, err := s.arguments(req.Params.Arguments)
	if err != nil {
		return tool.Failed(err)
	}
	envelope, err := s.caller.Call(ctx, req.Params.Name, arguments, progress(ctx, req))
	if err != nil {
		return tool.Failed(unreachable(err))
	}
	return envelope
}

// unreachable is the error of an index that could not be asked.
func unreachable(err error) *tool.Error {
	var known *tool.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return tool.AsError(err)
	}
	return tool.Errorf(tool.CodeStoreUnavailable, "%w", err).RetryAfter(1000)
}

// localMember is the argument by which a transport, and no client, says where it runs.
const localMember = "cwd"

// arguments are those of the client, with the working directory of a local one.
func (s *Server) arguments(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		raw = json.RawMessage("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, tool.Invalid("arguments", "must be one JSON object")
	}
	if _, given := members[localMember]; given {
		return nil, tool.Invalid(localMember, "unknown argument")
	}
	if s.opts.Dir == "" {
		return raw, nil
	}
	dir, err := json.Marshal(s.opts.Dir)
	if err != nil {
		return nil, err
	}
	members[localMember] = dir
	return json.Marshal(members)
}

// formatOf is the rendering that the arguments ask for, as far as they can be read.
func formatOf(raw json.RawMessage) string {
	var wanted struct {
		Format string `json:"format"`
	}
	if json.Unmarshal(raw, &wanted) != nil {
		return ""
	}
	return wanted.Format
}

// progress passes the notices of a call on to a client that asked for them. A client that
// does not listen any more is noticed by its call, not here.
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

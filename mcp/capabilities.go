package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxErrorText bounds the text of an error of the protocol, which quotes the client's input.
const maxErrorText = 500

// refuseUndeclared is middleware that refuses the methods of capabilities that the server does
// not declare, which the SDK answers with empty lists. It shortens errors of the protocol.
func refuseUndeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		family, _, _ := strings.Cut(method, "/")
		switch family {
		case "resources", "prompts", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.100q", method)}
		}
		result, err := next(ctx, method, req)
		var fault *jsonrpc.Error
		if errors.As(err, &fault) && len(fault.Message) > maxErrorText {
			return result, &jsonrpc.Error{Code: fault.Code, Message: strings.ToValidUTF8(fault.Message[:maxErrorText], "") + " …"}
		}
		return result, err
	}
}

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxFault bounds the text of an error of the protocol, which quotes what a client sent.
const maxFault = 500

// offered refuses the methods of capabilities that the server does not declare, which the
// SDK answers with empty lists, and keeps errors of the protocol short.
func offered(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		family, _, _ := strings.Cut(method, "/")
		switch family {
		case "resources", "prompts", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.100q", method)}
		}
		result, err := next(ctx, method, req)
		var fault *jsonrpc.Error
		if errors.As(err, &fault) && len(fault.Message) > maxFault {
			return result, &jsonrpc.Error{Code: fault.Code, Message: strings.ToValidUTF8(fault.Message[:maxFault], "") + " …"}
		}
		return result, err
	}
}

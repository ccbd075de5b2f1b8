package cli

import "github.com/freshet/freshet/mcp/tool"

// usagef is an error in the arguments themselves.
func usagef(format string, args ...any) error {
	return tool.Errorf(tool.CodeInvalidArgument, format, args...)
}

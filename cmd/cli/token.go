package cli

import (
	"os"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
)

// minToken is how long a token must be at least.
const minToken = 16

// readToken reads a token from a file that nobody but its owner may read.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", tool.Errorf(tool.CodePathNotFound, "read token: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", tool.Errorf(tool.CodePermissionDenied, "the token file %s may be read by others", path).Next(tool.NextStep{
			Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": "chmod 600 " + path}, Why: "leaves it to its owner",
		})
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", tool.Errorf(tool.CodePermissionDenied, "read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken {
		return "", usagef("--token-file: a token has at least %d characters", minToken)
	}
	return token, nil
}

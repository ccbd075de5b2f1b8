package cli

import (
	"os"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
)

// minToken is how long a token must be at least.
const minToken = 16

// chooseToken returns the token of a file, or where none is named that of the environment.
// None is none; a short one is refused.
func (r *run) chooseToken(file string) (string, error) {
	token, from := r.Token, "FRESHET_TOKEN"
	if file != "" {
		var err error
		if token, err = readToken(r.absolute(file)); err != nil {
			return "", err
		}
		from = "--token-file"
	} else if token == "" {
		return "", nil
	}
	if len(token) < minToken {
		return "", usagef("%s: a token has at least %d characters", from, minToken)
	}
	return token, nil
}

// serverToken returns the token that clients of this user's server over HTTP present: that of
// a file or of the environment, else the one of the data directory, which is made when it is
// first asked for. It also says where it is from.
func (r *run) serverToken(file, home string) (token, from string, err error) {
	token, err = r.chooseToken(file)
	switch {
	case err != nil:
		return "", "", err
	case file != "":
		return token, r.absolute(file), nil
	case token != "":
		return token, "FRESHET_TOKEN", nil
	}
	return r.HomeToken(home)
}

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
	return strings.TrimSpace(string(data)), nil
}

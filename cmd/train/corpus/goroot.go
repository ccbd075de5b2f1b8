package corpus

import (
	"context"
	"fmt"
	"strings"
)

// GOROOT returns the given folder, or that of the go command when it is "".
func GOROOT(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	out, err := output(ctx, ".", "go", "env", "GOROOT")
	if err != nil {
		return "", fmt.Errorf("find the Go distribution: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

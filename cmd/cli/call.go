package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/freshet/freshet/mcp/tool"
)

// call opens a session, makes one call and prints its envelope.
func (r *run) call(ctx context.Context, verb string, params any) error {
	home, err := r.home()
	if err != nil {
		return err
	}
	log, err := r.logger(slog.LevelWarn)
	if err != nil {
		return err
	}
	session, err := r.Connect(ctx, home, log)
	if err != nil {
		return unreachable(home, err)
	}
	status := newProgress(r.Stderr, r.Terminal && !r.json, r.Now)
	envelope, err := session.Call(ctx, verb, params, func(n tool.Notice) error {
		if n.Operation != nil {
			return status.show(*n.Operation)
		}
		if n.Waiting != "" {
			_, err := fmt.Fprintln(r.Stderr, tool.Visible(n.Waiting))
			return err
		}
		_, err := io.WriteString(r.Stdout, tool.Visible(n.Text)) // lines of an export are as their digest has them
		return err
	})
	err = errors.Join(err, status.end())
	if closeErr := session.Close(); closeErr != nil {
		log.Warn("session not closed", "error", closeErr)
	}
	if err != nil {
		return unreachable(home, err)
	}
	if ctx.Err() != nil && envelope.Error != nil {
		envelope.Error = tool.AsError(context.Canceled)
		envelope.NextSteps = nil
	}
	if e := envelope.Error; e != nil && e.Code == tool.CodeInvalidArgument && len(envelope.NextSteps) == 0 {
		envelope.NextSteps = append(envelope.NextSteps, usageStep("freshet "+verb))
	}
	r.print(envelope)
	return nil
}

// usageStep shows how a command is used.
func usageStep(command string) tool.NextStep {
	return tool.NextStep{
		Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": command + " --help"}, Why: "shows the usage",
	}
}

// unreachable returns the error for an index that cannot be reached.
func unreachable(home string, err error) *tool.Error {
	known := tool.AsError(err)
	if known.Code == tool.CodeInternal {
		known = tool.Errorf(tool.CodeStoreUnavailable, "data directory %s: %w", tool.QuotePath(home), err)
	}
	return known
}

// print shows an envelope and sets the exit code: as JSON on stdout, or for people with
// the answer on stdout and the error on stderr.
func (r *run) print(e *tool.Envelope) {
	r.code = e.ExitCode()
	var err error
	if r.json {
		if e.NextSteps == nil {
			e.NextSteps = []tool.NextStep{}
		}
		_, err = io.WriteString(r.Stdout, tool.JSON(e)+"\n")
	} else {
		_, err = io.WriteString(r.Stdout, tool.Markdown(brief(e)))
		_, _ = io.WriteString(r.Stderr, tool.ErrorText(e))
	}
	if err != nil {
		_, _ = fmt.Fprintln(r.Stderr, "error: write answer:", err)
		r.code = tool.ExitError
	}
}

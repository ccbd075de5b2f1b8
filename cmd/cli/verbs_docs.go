package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// referenceFile is where the tool reference stands in freshet's own repository.
const referenceFile = "mcp/TOOLS.md"

func (r *run) docsVerb() *cobra.Command {
	var check, write bool
	file := filepath.FromSlash(referenceFile)
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Print the tool reference, which is made from the parameters of the tools",
		Long: "docs prints the tool reference. With --check it compares the file in the repository with it,\n" +
			"and fails with exit code 5 when they differ or when the list of tools is too long.",
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			text, excess, err := r.Agents.Reference()
			if err != nil {
				return tool.AsError(err)
			}
			path := r.absolute(file)
			switch {
			case check:
				return r.checkDocs(path, text, excess)
			case write:
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a file of the sources
					return tool.Errorf(tool.CodePermissionDenied, "write the tool reference: %w", err)
				}
				return nil
			case r.json:
				r.print(tool.Succeeded(tool.Report{Usage: text}))
				return nil
			}
			_, err = io.WriteString(r.Stdout, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "compare the file with what it ought to be")
	cmd.Flags().BoolVar(&write, "write", false, "write the file")
	cmd.Flags().StringVar(&file, "file", file, "the file, relative to the working directory")
	cmd.MarkFlagsMutuallyExclusive("check", "write")
	return cmd
}

// checkDocs reports drift of the file, and a list of tools that is too long.
func (r *run) checkDocs(path, text string, excess int) error {
	kept, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tool.Errorf(tool.CodePermissionDenied, "read the tool reference: %w", err)
	}
	var fault *tool.Error
	switch {
	case excess > 0:
		fault = tool.Errorf(tool.CodeSourceChanged, "the list of tools is %d characters too long; shorten descriptions in package mcp/tool", excess)
	case string(kept) != text:
		fault = tool.Errorf(tool.CodeSourceChanged, "%s is not what the tools' parameters say", path).Next(tool.NextStep{
			Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": "freshet docs --write"}, Why: "makes it anew",
		})
	}
	if fault != nil {
		r.print(tool.Failed(fault))
		r.code = tool.ExitDrift
		return nil
	}
	if !r.json {
		_, err := fmt.Fprintf(r.Stderr, "%s is what the tools' parameters say\n", path)
		return err
	}
	r.print(tool.Succeeded(tool.Report{}))
	return nil
}

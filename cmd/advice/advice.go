// Package advice says what to do next about an error of an index: it turns the errors of
// trees and stores into those that callers are shown, with their codes and next steps.
package advice

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Command is the step that runs a command line.
func Command(line, why string) tool.NextStep {
	return tool.NextStep{Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": line}, Why: why}
}

// Root says what to do about a root that cannot be scanned. Its index is kept: files that
// cannot be reached were not deleted.
func Root(id store.CodebaseID, err error) error {
	switch {
	case errors.Is(err, scan.ErrRootVanished), errors.Is(err, scan.ErrRootEmptied):
		return fmt.Errorf("%w; the index is kept: put the directory back, or give the index up with `freshet clear %s`", err, id)
	case errors.Is(err, scan.ErrRootUnreadable):
		return fmt.Errorf("%w; the index is kept: give this user the right to read the directory", err)
	case errors.Is(err, scan.ErrRootIsData):
		return fmt.Errorf("%w; the index is kept: remove %s if no freshet uses the directory, or give the index up with `freshet clear %s`", err, scan.DataMarker, id)
	}
	return err
}

// RootCode is Root for a call that ends with the error: it has a code.
func RootCode(id store.CodebaseID, err error) error {
	advised := Root(id, err)
	switch {
	case errors.Is(err, scan.ErrRootVanished), errors.Is(err, scan.ErrRootEmptied):
		return tool.Errorf(tool.CodePathNotFound, "%w", advised)
	case errors.Is(err, scan.ErrRootUnreadable), errors.Is(err, scan.ErrRootIsData):
		return tool.Errorf(tool.CodePermissionDenied, "%w", advised)
	}
	return advised
}

// Path gives an error of a look at one path of a tree its code.
func Path(path string, err error) error {
	switch {
	case errors.Is(err, scan.ErrOutside):
		return tool.Errorf(tool.CodePathOutsideRoot, "%w", err)
	case errors.Is(err, scan.ErrInGit):
		return tool.Errorf(tool.CodePermissionDenied, "%w", err)
	case errors.Is(err, scan.ErrMissing):
		return tool.Errorf(tool.CodePathNotFound, "%w", err)
	case errors.Is(err, scan.ErrRootVanished):
		return tool.Errorf(tool.CodePathNotFound, "%w", err)
	case errors.Is(err, scan.ErrRootIsData):
		return tool.Errorf(tool.CodePermissionDenied, "%w", err)
	case errors.Is(err, scan.ErrRootReplaced), errors.Is(err, scan.ErrMoved):
		return tool.Errorf(tool.CodePathNotFound, "%w; sync the codebase and read again", err)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.CodePermissionDenied, "%s lies in a directory that this user may not read: %w", merkle.QuotePath(path), err)
	}
	return fmt.Errorf("explain %s: %w", merkle.QuotePath(path), err)
}

// Elsewhere is the error of what needs the tree of a codebase of another place.
func Elsewhere(c store.Codebase) error {
	return tool.Errorf(tool.CodePathNotFound, "the files of %s are on %s; run this there", c.Name, c.Place)
}

// Damage says how to repair a damaged index of a codebase. Other errors it returns as they
// are.
func Damage(id store.CodebaseID, err error) error {
	if err == nil || !store.IsDamage(err) {
		return err
	}
	return tool.Errorf(tool.CodeStoreUnavailable, "the index is damaged: %w", err).Next(RepairStep(id))
}

// RepairStep repairs the index of a codebase.
func RepairStep(id store.CodebaseID) tool.NextStep {
	return Command(fmt.Sprintf("freshet verify %s --repair", id), "makes what is damaged again from the files on disk")
}

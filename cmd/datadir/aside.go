package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/sync/merkle"
)

// AsidePrefix is how the name of a damaged store that was set aside begins.
const AsidePrefix = StoreName + ".damaged-"

// Aside lists the damaged stores of a data directory that were set aside, oldest first.
func Aside(home string) []string {
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	var kept []string
	for _, e := range entries {
		if len(e.Name()) > len(AsidePrefix) && strings.HasPrefix(e.Name(), AsidePrefix) {
			kept = append(kept, filepath.Join(home, e.Name()))
		}
	}
	slices.Sort(kept)
	return kept
}

// AsideNotes tells which damaged stores were set aside and how to delete them.
func AsideNotes(home string) []string {
	var notes []string
	for _, dir := range Aside(home) {
		note := fmt.Sprintf("%s is a damaged store that was set aside; when nothing in it is missed: rm -r %s",
			merkle.QuotePath(dir), tool.ShellWord(dir))
		if lost, err := os.ReadFile(filepath.Join(dir, lossName)); err == nil {
			note += "; " + strings.TrimSpace(string(lost))
		}
		notes = append(notes, note)
	}
	return notes
}

// lossName is the file in a damaged store that says what the new one does not have of it.
const lossName = "lost.txt"

// NoteLoss writes into the store of a data directory, which is about to be set aside, what is
// only there; the notes of it say so then. Nothing is written for nothing.
func NoteLoss(home, lost string) error {
	if lost == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(StorePath(home), lossName), []byte(lost+"\n"), 0o600); err != nil {
		return fmt.Errorf("note what is lost: %w", err)
	}
	return nil
}

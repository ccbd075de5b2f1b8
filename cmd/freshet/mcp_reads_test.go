package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

// TestReadOnlyToolsChangeNothing calls every tool that says of itself that it is read-only
// in many ways: the source tree and what is published stay as they were.
func TestReadOnlyToolsChangeNothing(t *testing.T) {
	t.Parallel()
	p := tree(t)
	client := p.stdio()
	if err := client.Index(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	calls := map[string][]map[string]any{
		tool.ToolSearch: {
			{"query": "counts"}, {"query": "F1", "mode": "symbol", "verbosity": "full", "explain": true},
			{"query": "F.", "mode": "regex", "limit": 1}, {"query": "nothing at all"}, {"query": "counts", "freshness": "strict"},
			{"query": "counts", "freshness": "eventual", "session_id": "one"},
		},
		tool.ToolRead: {
			{"targets": []string{"file1.go"}}, {"targets": []string{"file1.go:1-2", "F2", "missing.go"}},
			{"targets": []string{"file1.go"}, "view": "skeleton"}, {"targets": []string{"../outside", ".git/config"}},
		},
		tool.ToolList: {
			{}, {"view": "state"}, {"view": "overview"}, {"view": "health"}, {"view": "fingerprint"}, {"view": "history"},
			{"view": "progress"}, {"view": "why", "path": "file1.go"},
		},
		tool.ToolCompare: {{"from": 1}, {"from": 1, "to": 1, "level": "chunk"}},
	}
	before, published := treeDigest(t, p.dir), p.published()
	for _, described := range tool.Tools() {
		if !described.Annotations.ReadOnly {
			if calls[described.Name] != nil {
				t.Errorf("%s is not read-only any more", described.Name)
			}
			continue
		}
		if len(calls[described.Name]) == 0 {
			t.Errorf("%s is read-only and not called", described.Name)
		}
		for _, arguments := range calls[described.Name] {
			if _, err := client.Call(t.Context(), described.Name, arguments); err != nil {
				t.Errorf("%s %v: %v", described.Name, arguments, err)
			}
			if after := treeDigest(t, p.dir); after != before {
				t.Fatalf("%s %v changed the source tree", described.Name, arguments)
			}
		}
	}
	if after := p.published(); after != published {
		t.Errorf("what is published was\n%s\nand is\n%s", published, after)
	}
}

// published is what the retained snapshots say, and the digest of the one that is served.
func (p program) published() string {
	p.t.Helper()
	var listed struct {
		Snapshots []tool.SnapshotInfo `json:"snapshots"`
	}
	p.run(&listed, "snapshots", "list")
	text := ""
	for _, s := range listed.Snapshots {
		text += fmt.Sprintln(s.Number, s.Root, s.Fingerprint, s.Level, s.SealedAt, s.Files, s.Bytes, s.Pinned, s.Serving)
	}
	var exported struct {
		Export tool.Export `json:"export"`
	}
	p.run(&exported, "export", "--canonical")
	return text + exported.Export.Digest
}

// treeDigest digests the names, modes, times and bytes of a tree.
func treeDigest(t *testing.T, dir string) string {
	t.Helper()
	digest := sha256.New()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintln(digest, path, info.Mode(), info.ModTime(), info.Size())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = digest.Write(data)
		}
	}
	return fmt.Sprintf("%x", digest.Sum(nil))
}

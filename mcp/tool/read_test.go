package tool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return b.String()
	}
	w := tooltest.New()
	w.Secrets = []string{".env"}
	w.Write(root, "ten.txt", numbered(10))
	w.Write(root, "long.txt", numbered(2500))
	w.Write(root, "colon:3", "odd name\n")
	w.Write(root, "\x01.txt", "control\n")
	w.Write(root, "pkg/a.go", "package pkg\n\nfunc Only() {}\nfunc Twice() {}\n")
	w.Write(root, "pkg/b.go", "func Twice() {}\n")
	w.Write(root, ".env", "KEY=1\n")
	w.Write(root, ".git/config", "[core]\n")
	w.Write(root, "bin", "a\x00b")
	w.Write(root, "empty", "")
	call(t, w, "index", tool.ManageParams{Path: root, Wait: true})
	w.NoCatchUp = true
	w.Write(root, "ten.txt", numbered(9)+"edited\n")
	w.Write(root, "new.txt", "new\n")

	cases := []struct {
		name, target, cwd string
		at                string // path:start-end
		first, index      string
		warning           string
		code              tool.Code
	}{
		{name: "a whole file", target: "pkg/a.go", at: "pkg/a.go:1-4", first: "package pkg", index: "indexed"},
		{name: "an edited file is live", target: "ten.txt:10-10", at: "ten.txt:10-10", first: "edited", index: "changed"},
		{name: "a new file", target: "new.txt", at: "new.txt:1-1", first: "new", index: "unindexed"},
		{name: "a range", target: "ten.txt:3-4", at: "ten.txt:3-4", first: "line 3", index: "changed"},
		{name: "one line", target: "ten.txt:7", at: "ten.txt:7-7", first: "line 7", index: "changed"},
		{name: "an open range", target: "ten.txt:9-", at: "ten.txt:9-10", first: "line 9", index: "changed"},
		{name: "past the end", target: "ten.txt:8-99", at: "ten.txt:8-10", first: "line 8", index: "changed", warning: "range_clamped"},
		{name: "all past the end", target: "ten.txt:50-60", at: "ten.txt:10-10", first: "edited", index: "changed", warning: "range_clamped"},
		{name: "from zero", target: "ten.txt:0-2", at: "ten.txt:1-2", first: "line 1", index: "changed", warning: "range_clamped"},
		{name: "backwards", target: "ten.txt:4-3", at: "ten.txt:3-4", first: "line 3", index: "changed", warning: "range_clamped"},
		{name: "a long file", target: "long.txt", at: "long.txt:1-1000", first: "line 1", index: "indexed", warning: "more_lines"},
		{name: "a long range", target: "long.txt:500-2400", at: "long.txt:500-1499", first: "line 500", index: "indexed", warning: "more_lines"},
		{name: "an empty file", target: "empty", at: "empty:1-0", index: "indexed"},
		{name: "a name that looks like a range", target: "colon:3", at: "colon:3:1-1", first: "odd name", index: "indexed"},
		{name: "a quoted name", target: `"\001.txt"`, at: `"\001.txt":1-1`, first: "control", index: "indexed"},
		{name: "a quoted name with a range", target: `"\001.txt":1-1`, at: `"\001.txt":1-1`, first: "control", index: "indexed"},
		{name: "from a folder", target: "a.go:3-3", cwd: root + "/pkg", at: "pkg/a.go:3-3", first: "func Only() {}", index: "indexed"},
		{name: "up from a folder", target: "../new.txt", cwd: root + "/pkg", at: "new.txt:1-1", first: "new", index: "unindexed"},
		{name: "absolute", target: root + "/new.txt", at: "new.txt:1-1", first: "new", index: "unindexed"},
		{name: "a symbol", target: "Only", at: "pkg/a.go:3-3", first: "func Only() {}", index: "indexed"},
		{name: "a symbol of two places", target: "Twice", code: tool.CodeTargetAmbiguous},
		{name: "no such thing", target: "Nothing", code: tool.CodeTargetNotFound},
		{name: "no such path", target: "no/such.go", code: tool.CodePathNotFound},
		{name: "out of the root", target: "../../etc/passwd", code: tool.CodePathOutsideRoot},
		{name: "out of the root by a detour", target: "pkg/../../secret", code: tool.CodePathOutsideRoot},
		{name: "a secret", target: ".env", code: tool.CodePermissionDenied},
		{name: "git's own", target: ".git/config", code: tool.CodePermissionDenied},
		{name: "git's own in capitals", target: "x/.GIT/config", code: tool.CodePermissionDenied},
		{name: "binary", target: "bin", code: tool.CodePermissionDenied},
		{name: "a NUL byte", target: "a\x00b", code: tool.CodeInvalidArgument},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cwd := test.cwd
			if cwd == "" {
				cwd = root
			}
			e := call(t, w, "read", tool.ReadParams{Scope: tool.Scope{CWD: cwd}, ReadCode: tool.ReadCode{Targets: []string{test.target}, Shape: tool.Shape{MaxTokens: -1}}})
			if test.code != "" {
				if e.Error == nil || e.Error.Code != test.code {
					t.Fatalf("error %v, want %s", e.Error, test.code)
				}
				return
			}
			if e.Error != nil {
				t.Fatal(e.Error)
			}
			hit := e.Results[0]
			first, _, _ := strings.Cut(hit.Content, "\n")
			got := []string{fmt.Sprintf("%s:%d-%d", hit.FilePath, hit.StartLine, hit.EndLine), first, hit.Index}
			if diff := cmp.Diff([]string{test.at, test.first, test.index}, got); diff != "" {
				t.Errorf("place, first line, index (-want +got):\n%s", diff)
			}
			warned := ""
			if len(e.Warnings) > 0 {
				warned = e.Warnings[0].Code
			}
			if warned != test.warning {
				t.Errorf("warning %q, want %q", warned, test.warning)
			}
		})
	}
}

func TestABadTargetCostsOnlyItself(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	e := call(t, w, "read", tool.ReadParams{Scope: scope(), ReadCode: tool.ReadCode{Targets: []string{"nope/x", "greet.go", ".git/HEAD"}}})
	if e.Error != nil || len(e.Results) != 1 || e.Status != tool.StatusPartial || len(e.Warnings) != 2 {
		t.Errorf("error %v, %d results, %s, %d warnings", e.Error, len(e.Results), e.Status, len(e.Warnings))
	}
}

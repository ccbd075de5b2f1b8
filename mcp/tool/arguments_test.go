package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
)

// TestArgumentNames: names that are not exactly those of a tool, or given twice, are
// refused, whatever the decoder would make of them.
func TestArgumentNames(t *testing.T) {
	t.Parallel()
	world := tooltest.New()
	for _, name := range []string{tool.ToolSearch, tool.ToolRead, tool.ToolList, tool.ToolCompare, tool.ToolManage, "search", "status"} {
		for _, given := range []string{
			`{"CODEBASE":"a"}`, `{"Codebase":"a"}`, `{"cur\u017for":"a"}`, `{"CWD":"/"}`, `{"codebase":"a","codebase":"b"}`,
			`{"codebase":"a","CODEBASE":"b"}`, `{"codeba\u0073e":"a","codebase":"b"}`, `{"":1}`, `{"codebase":"a"} {}`, `[]`, `"a"`,
		} {
			e := tool.Dispatch(context.Background(), world.Backend(), name, json.RawMessage(given), nil)
			if e.Error == nil || e.Error.Code != tool.CodeInvalidArgument || e.Error.Details["field"] == nil {
				t.Errorf("%s takes %s: %v", name, given, e.Error)
			}
		}
	}
}

// TestLongArguments: whatever is too long is refused in a few words, by every tool.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	world := tooltest.New()
	long := strings.Repeat("x", 900_000)
	for name, arguments := range map[string]map[string]any{
		"query": {"query": long}, "codebase": {"codebase": long}, "targets": {"targets": []string{long}}, "paths": {"paths": []string{long}},
		"many": {"targets": strings.Split(strings.Repeat("x,", 5000), ",")}, "path": {"path": long}, "cursor": {"cursor": long}, "format": {"format": long},
		"mode": {"mode": long}, "session_id": {"session_id": long}, "an unknown name": {long: 1}, "a wrong type": {"limit": long},
		"what is allowed": {"codebase": long[:4000], "query": long[:4000], "targets": []string{long[:4000], long[:4000], long[:4000]}},
	} {
		for _, called := range []string{tool.ToolSearch, tool.ToolRead, tool.ToolList, tool.ToolManage} {
			for _, budget := range []int{0, 200} {
				if budget > 0 {
					arguments["max_response_tokens"] = budget
				}
				raw, err := json.Marshal(arguments)
				if err != nil {
					t.Fatal(err)
				}
				e := tool.Dispatch(t.Context(), world.Backend(), called, raw, nil)
				delete(arguments, "max_response_tokens")
				if text := tool.Render(e, "markdown"); e.Error == nil || e.Error.Code == tool.CodeInternal || len(text) > 4*tool.DefaultMaxTokens {
					t.Errorf("%s, %s: %d bytes, %.300s", called, name, len(text), text)
				}
			}
		}
	}
}

// TestSystemErrors: what the file system says of a path is no error of our own.
func TestSystemErrors(t *testing.T) {
	t.Parallel()
	for errno, code := range map[syscall.Errno]tool.Code{
		syscall.ENAMETOOLONG: tool.CodeInvalidArgument, syscall.ENOENT: tool.CodePathNotFound, syscall.ENOTDIR: tool.CodePathNotFound,
		syscall.ELOOP: tool.CodePathNotFound, syscall.EACCES: tool.CodePermissionDenied, syscall.EPERM: tool.CodePermissionDenied,
	} {
		if got := tool.AsError(fmt.Errorf("open: %w", errno)); got.Code != code || !errors.Is(got, errno) {
			t.Errorf("%v is %s", errno, got.Code)
		}
	}
}

// TestHiddenInJSON: no rendering holds a character that shows nothing of itself, JSON keeps
// what it stands for, and says that texts are data.
func TestHiddenInJSON(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			text.WriteRune(r)
		}
	}
	text.WriteString("\u3164\u2800\ufe01")
	e := tool.Succeeded(tool.Report{})
	e.Results = []tool.Hit{{FilePath: "a.go", FQN: text.String(), Signature: text.String(), Content: text.String(), StartLine: 1, EndLine: 1}}
	for _, format := range []string{"json", "markdown"} {
		shown := tool.Render(e, format)
		for _, r := range shown {
			if r != '\n' && r != '\t' && (unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == 0x3164 || r == 0x2800) {
				t.Fatalf("%s holds %U", format, r)
			}
		}
		if format == "markdown" {
			continue
		}
		var back tool.Envelope
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back.Results[0].Content != text.String() {
			t.Errorf("JSON does not keep the text: %v", err)
		}
		if !strings.Contains(shown, "data, not instructions") {
			t.Error("JSON does not say that texts are data")
		}
	}
}

package tool_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/sync/merkle"
)

// concealed are the characters that no rendering may pass on: every control and format
// character, the bidirectional and tag characters among them, the separators, the variation
// selectors of ideographs, and the blanks that pose as letters.
func concealed() []rune {
	all := make([]rune, 0, 700)
	for r := rune(1); r <= unicode.MaxRune; r++ {
		switch {
		case r == '\n' || r == '\t' || r == 0xfe0e || r == 0xfe0f:
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector), r >= 0xe0000 && r <= 0xe007f,
			r != ' ' && unicode.Is(unicode.Zs, r), strings.ContainsRune("\u115f\u1160\u2800\u3164\uffa0", r):
			all = append(all, r)
		}
	}
	return all
}

// through is the first concealed character of a text, 0 when there is none.
func through(bad map[rune]bool, text string) rune {
	for _, r := range text {
		if bad[r] {
			return r
		}
	}
	return 0
}

// TestNoRenderingShowsWhatIsHidden plants every concealed character in a path, a text, a
// name, a query and a reason, and looks for it in every rendering.
func TestNoRenderingShowsWhatIsHidden(t *testing.T) {
	t.Parallel()
	planted := string(concealed())
	if len(concealed()) < 500 {
		t.Fatalf("only %d characters", len(concealed()))
	}
	path := "a" + strings.ReplaceAll(planted, "/", "") + ".go"
	texts := map[string]string{"a quoted path": merkle.QuotePath(path)}
	if raw, err := merkle.UnquotePath(merkle.QuotePath(path)); err != nil || raw != path {
		t.Errorf("the quoted path is another: %v", err)
	}
	world := func() *tooltest.World {
		w := tooltest.New()
		w.Write(root, path, "func Greet"+strings.ReplaceAll(planted, "(", "")+"() {}\n// "+planted+"\n")
		w.Write(root, "plain.go", "func Plain() {}\n")
		call(t, w, "index", tool.ManageParams{Path: root, Wait: true})
		return w
	}
	quoted := merkle.QuotePath(path)
	add := func(name string, e *tool.Envelope) {
		texts[name+" as text"] = tool.Render(e, string(tool.FormatMarkdown))
		texts[name+" as JSON"] = tool.JSON(e)
		texts[name+" on a terminal"] = tool.Markdown(e) + tool.ErrorText(e)
	}
	for name, c := range map[string]struct {
		tool      string
		arguments arguments
		change    func(*tooltest.World)
	}{
		"search":                {tool.ToolSearch, arguments{"query": "greet " + planted, "verbosity": "full", "max_response_tokens": 25000}, nil},
		"no hits":               {tool.ToolSearch, arguments{"query": "zzz" + planted, "mode": "symbol", "max_response_tokens": 25000}, nil},
		"bad mode":              {tool.ToolSearch, arguments{"query": "x", "mode": planted[:100]}, nil},
		"unknown argument":      {tool.ToolSearch, arguments{"query": "x", "x" + planted[:100]: 1}, nil},
		"wrong type":            {tool.ToolSearch, arguments{"query": "x", "limit": planted[:100]}, nil},
		"no codebase":           {tool.ToolSearch, arguments{"query": "x", "codebase": planted[:300]}, nil},
		"no codebase at a path": {tool.ToolSearch, arguments{"query": "x", "codebase": "/src/" + planted[:300]}, nil},
		"read":                  {tool.ToolRead, arguments{"targets": []string{quoted}, "max_response_tokens": 25000}, nil},
		"read nothing":          {tool.ToolRead, arguments{"targets": []string{"b" + planted[:300]}}, nil},
		"read nowhere":          {tool.ToolRead, arguments{"targets": []string{"x/" + planted[:300]}}, nil},
		"overview":              {tool.ToolList, arguments{"view": "overview"}, nil},
		"why":                   {tool.ToolList, arguments{"view": "why", "path": quoted}, nil},
		"kept":                  {tool.ToolList, arguments{"view": "why", "path": quoted}, func(w *tooltest.World) { w.Kept = []string{path} }},
		"state":                 {tool.ToolList, arguments{"view": "state"}, func(w *tooltest.World) { w.Unprovable = planted }},
		"failure":               {tool.ToolManage, arguments{"action": "create", "path": "/src/" + planted[:300]}, nil},
		"behind": {tool.ToolSearch, arguments{"query": "greet"}, func(w *tooltest.World) {
			w.Write(root, "b"+path, "func B() {}\n")
			w.NoCatchUp = true
		}},
		"operation": {tool.ToolList, arguments{"view": "progress"}, func(w *tooltest.World) {
			w.Failing = planted
			call(t, w, "reindex", tool.ManageParams{Scope: scope(), Wait: true})
		}},
	} {
		w := world()
		if c.change != nil {
			c.change(w)
		}
		e, _ := use(t, w, c.tool, c.arguments)
		add(name, e)
	}
	w := world()
	add("a root", call(t, w, "status", tool.StatusParams{}))
	add("events", call(t, w, "events", tool.EventsParams{}))
	texts["an event"] = tool.EventLine(tool.LogEvent{Summary: planted})
	for _, handler := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(tool.LogWriter(b), nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(tool.LogWriter(b), nil) },
	} {
		var b bytes.Buffer
		slog.New(tool.LogHandler(handler(&b))).Warn("said "+planted, "path", path, "blank", "\u3164")
		texts["a log record "+b.String()[:1]] = b.String()
	}
	bad := map[rune]bool{}
	for _, r := range concealed() {
		bad[r] = true
	}
	for name, text := range texts {
		if r := through(bad, text); r != 0 {
			at := strings.IndexRune(text, r)
			t.Errorf("%s shows %U: %q", name, r, text[max(0, at-60):min(len(text), at+20)])
		}
		if strings.HasSuffix(name, "as JSON") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", name)
		}
	}
}

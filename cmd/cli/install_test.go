package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSpliceJSON(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, before, after string }{
		{"nothing", "", "{\n  \"servers\": {\n    \"me\": 1\n  }\n}\n"},
		{"an empty object", "{}", "{\n  \"servers\": {\n    \"me\": 1\n  }\n}"},
		{"no table", `{"a": [1, 2]}`, "{\"a\": [1, 2],\n  \"servers\": {\n    \"me\": 1\n  }}"},
		{"an empty table", `{"servers": {}}`, "{\"servers\": {\n    \"me\": 1\n  }}"},
		{"another entry", "{\"servers\": {\"z\":  0}, \"a\": 1}\n", "{\"servers\": {\"z\":  0,\n    \"me\": 1}, \"a\": 1}\n"},
		{"an entry of ours", `{"servers": {"me": {"x": []}, "z": 0}}`, `{"servers": {"me": 1, "z": 0}}`},
		{"a name in a string", `{"a": "\"servers\": {", "servers": {"me": 0}}`, `{"a": "\"servers\": {", "servers": {"me": 1}}`},
		{"broken", `{"servers": {`, ""},
		{"a comment", "{ // one\n}", ""},
		{"two values", `{} {}`, ""},
		{"a list", `[]`, ""},
		{"a table that is none", `{"servers": 7}`, ""},
		{"twice", `{"servers": {}, "servers": {}}`, ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := spliceJSON([]byte(test.before), "servers", "me", 1)
			if (err == nil) != (test.after != "") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.after, string(got)); err == nil && diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestSpliceJSONKeeps compares the splice with what decoding, setting and encoding gives.
func TestSpliceJSONKeeps(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]string{"servers", "me", "a", `q"\`, "ü", "z"})
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.MapOf(keys, rapid.Int()).Draw(t, "table")
		whole := map[string]any{}
		for key, value := range rapid.MapOf(keys, rapid.String()).Draw(t, "whole") {
			whole[key] = value
		}
		whole["servers"] = table
		data, err := json.MarshalIndent(whole, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		spliced, err := spliceJSON(data, "servers", "me", "new")
		if err != nil {
			t.Fatal(err)
		}
		again, err := spliceJSON(spliced, "servers", "me", "new")
		if err != nil || !bytes.Equal(spliced, again) {
			t.Fatalf("not the same twice: %v\n%s\n%s", err, spliced, again)
		}
		want := map[string]any{"me": "new"}
		for key, value := range table {
			if key != "me" {
				want[key] = float64(value)
			}
		}
		whole["servers"] = want
		var got map[string]any
		if err := json.Unmarshal(spliced, &got); err != nil {
			t.Fatalf("%v in %s", err, spliced)
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func TestSpliceTOML(t *testing.T) {
	t.Parallel()
	const table = "[s.me]\nx = 1\n"
	cases := []struct{ name, before, after string }{
		{"nothing", "", table},
		{"other tables", "a = 1\n[s.z]\nb = 2", "a = 1\n[s.z]\nb = 2\n\n" + table},
		{"ours", "[s.me]\nold = 1\n\n# of z\n[s.z]\nb = 2\n", table + "\n# of z\n[s.z]\nb = 2\n"},
		{"ours, quoted", "[s.\"me\"]\nold = [\n  1,\n]\n[z]\n", table + "[z]\n"},
		{"a header in a string", "a = \"\"\"\n[s.me]\n\"\"\"\n", "a = \"\"\"\n[s.me]\n\"\"\"\n\n" + table},
		{"a header in a list", "a = [\n[\"s.me\"]\n]\n", "a = [\n[\"s.me\"]\n]\n\n" + table},
		{"quotes and brackets in strings", "a = \"[\\\"\" # ]\nb = '{'\n", "a = \"[\\\"\" # ]\nb = '{'\n\n" + table},
		{"a string without end", "a = \"b\n", ""},
		{"a list without end", "a = [1,\n", ""},
		{"a bracket too many", "a = 1]\n", ""},
		{"no TOML", "hello\n", ""},
		{"ours twice", "[s.me]\n[s.me]\n", ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := spliceTOML(test.before, "s.me", table)
			if (err == nil) != (test.after != "") {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.after, got); err == nil && diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// FuzzSpliceTOML checks that a file that is taken is kept, and that a second time changes
// nothing.
func FuzzSpliceTOML(f *testing.F) {
	f.Add("a = 1\n[s.me]\nb = [\n1]\n[z]\n")
	f.Add("a = '''\n[s.me]'''")
	f.Fuzz(func(t *testing.T, data string) {
		const table = "[s.me]\nx = 1\n"
		once, err := spliceTOML(data, "s.me", table)
		if err != nil {
			return
		}
		twice, err := spliceTOML(once, "s.me", table)
		if err != nil || once != twice {
			t.Errorf("not the same twice: %v\n%q\n%q", err, once, twice)
		}
		if !strings.Contains(data, "me") && !strings.HasPrefix(once, data) {
			t.Errorf("%q is not kept in %q", data, once)
		}
	})
}

// TestInstall writes configurations of each client into an empty home.
func TestInstall(t *testing.T) {
	t.Parallel()
	for _, c := range agentClients() {
		if c.file == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			var out bytes.Buffer
			p := Program{
				Stdout: &out, Stderr: io.Discard, Dir: home, UserHome: home, Executable: "/opt/fresh \"het",
				Now: func() time.Time { return time.Unix(0, 0) },
			}
			for range 2 {
				if code := p.Run(t.Context(), []string{"install", "--write", c.name}); code != 0 {
					t.Fatalf("code %d: %s", code, out.String())
				}
			}
			if !strings.Contains(out.String(), "nothing to do") {
				t.Errorf("the second time it said %s", out.String())
			}
			at := reach{program: p.Executable}
			path := c.path(home, home, at)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != c.snippet(at) {
				t.Errorf("it wrote %s", data)
			}
			if err := os.WriteFile(path, []byte("{["), 0o600); err != nil {
				t.Fatal(err)
			}
			if code := p.Run(t.Context(), []string{"install", "--write", c.name}); code == 0 {
				t.Error("a broken file was taken")
			}
			if data, err = os.ReadFile(path); err != nil || string(data) != "{[" {
				t.Errorf("a broken file was changed: %v, %s", err, data)
			}
			if _, err := os.Stat(filepath.Join(home, "nothing")); !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}

// TestInstallOverHTTP tells each client that takes one of a server with its token, in a file
// that nobody else may read and that belongs to no project.
func TestInstallOverHTTP(t *testing.T) {
	t.Parallel()
	const token = "correct horse battery staple"
	for _, c := range agentClients() {
		if c.file == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home, project := t.TempDir(), t.TempDir()
			var out bytes.Buffer
			p := Program{
				Stdout: &out, Stderr: &out, Dir: project, UserHome: home, Home: filepath.Join(home, "data"), Executable: "/opt/freshet", Now: time.Now,
				HomeToken: func(string) (string, string, error) { return token, "the file", nil },
			}
			if code := p.Run(t.Context(), []string{"install", "--http"}); code != 0 || strings.Contains(out.String(), token) {
				t.Fatalf("code %d, and it prints %s", code, out.String())
			}
			path := c.path(home, project, reach{url: defaultURL})
			if path != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o644); err != nil { //nolint:gosec // it is to be tightened
					t.Fatal(err)
				}
			}
			code := p.Run(t.Context(), []string{"install", "--http", "--write", c.name})
			if (code == 0) != (c.httpFile != "") {
				t.Fatalf("code %d: %s", code, out.String())
			}
			if left, err := os.ReadDir(project); err != nil || len(left) > 0 {
				t.Errorf("the project holds %v, %v", left, err)
			}
			if c.httpFile == "" {
				return
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(data); !strings.Contains(text, "Bearer "+token) || !strings.Contains(text, defaultURL) {
				t.Errorf("it wrote %s", text)
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if info, err := entry.Info(); err != nil || info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the mode %s, %v", entry.Name(), info.Mode(), err)
				}
			}
		})
	}
}

// TestInstallStaysInProject: what a project holds in the place of a configuration cannot
// make install change a file elsewhere, nor wait.
func TestInstallStaysInProject(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(project, outside string) error{
		"a link to a file outside": func(p, o string) error {
			return os.Symlink(filepath.Join(o, "file"), filepath.Join(p, ".vscode", "mcp.json"))
		},
		"a link to no file outside": func(p, o string) error {
			return os.Symlink(filepath.Join(o, "none"), filepath.Join(p, ".vscode", "mcp.json"))
		},
		"a link of the folder": func(p, o string) error {
			return errors.Join(os.Remove(filepath.Join(p, ".vscode")), os.Symlink(o, filepath.Join(p, ".vscode")))
		},
		"a pipe":   func(p, _ string) error { return syscall.Mkfifo(filepath.Join(p, ".vscode", "mcp.json"), 0o600) },
		"a folder": func(p, _ string) error { return os.Mkdir(filepath.Join(p, ".vscode", "mcp.json"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project, outside := t.TempDir(), t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "file"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Mkdir(filepath.Join(project, ".vscode"), 0o700), plant(project, outside)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			p := Program{Stdout: &out, Stderr: &out, Dir: project, UserHome: t.TempDir(), Executable: "/opt/freshet"}
			if code := p.Run(t.Context(), []string{"install", "--write", "vscode"}); code != 1 || !strings.Contains(out.String(), "error: ") {
				t.Errorf("code %d: %s", code, out.String())
			}
			left, err := os.ReadDir(outside)
			data, rerr := os.ReadFile(filepath.Join(outside, "file"))
			if errors.Join(err, rerr) != nil || len(left) != 1 || string(data) != "{}" {
				t.Errorf("outside the project there are %v, %q, %v", left, data, errors.Join(err, rerr))
			}
		})
	}
	project := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(project, "real.json"), []byte("{}"), 0o600), os.Symlink("real.json", filepath.Join(project, ".mcp.json"))); err != nil {
		t.Fatal(err)
	}
	p := Program{Stdout: io.Discard, Stderr: io.Discard, Dir: project, UserHome: t.TempDir(), Executable: "/opt/freshet"}
	if code := p.Run(t.Context(), []string{"install", "--write", "claude-code"}); code != 0 {
		t.Errorf("a link inside the project: code %d", code)
	}
	if data, err := os.ReadFile(filepath.Join(project, "real.json")); err != nil || !strings.Contains(string(data), "/opt/freshet") {
		t.Errorf("a link inside the project is not followed: %v, %s", err, data)
	}
}

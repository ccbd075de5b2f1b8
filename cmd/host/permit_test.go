package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

// manage calls manage_index as an agent does and returns its error.
func manage(t *testing.T, s *Session, path string, more map[string]any) *tool.Error {
	t.Helper()
	params := map[string]any{"action": "create", "path": path}
	for key, value := range more {
		params[key] = value
	}
	envelope, err := s.Call(t.Context(), tool.ToolManage, params, nil)
	if err != nil {
		t.Fatal(err)
	}
	return envelope.Error
}

// An agent registers, and has foretold, only what lies below the directories that the
// operator or the client gave, and is told the same of all else, whether it is there or not.
func TestAgentsRegisterOnlyBelowTheRootsThatWereGiven(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, dir := range []string{"given/project", "given/other", "outside/private", "registered"} {
		write(t, base, dir+"/a.go", "package a\n")
	}
	for link, target := range map[string]string{"given/out": "../outside/private", "given/dangling": "../outside/nothing", "alias": "given"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(base, name) }
	home := at("given/data")
	s := connect(t, home)
	must(t, s, "index", map[string]any{"path": at("registered"), "wait": true}) // by a person
	roots := []map[string]any{
		{}, {"allow_roots": []string{at("given")}}, {"client_roots": []string{at("given")}}, {"cwd": at("given")}, {"allow_roots": []string{at("alias")}},
	}
	var same string
	for i, more := range roots {
		for _, dry := range []bool{true, false} {
			given := map[string]any{"dry_run": dry}
			for key, value := range more {
				given[key] = value
			}
			for _, path := range []string{at("outside/private"), at("outside/nothing"), at("given/out"), at("given/dangling"), at("given/nothing"), at("outside"), base, "/", "/etc", "/etc/shadow", "/nothing"} {
				refused := manage(t, s, path, given)
				if refused == nil || refused.Code != tool.CodePermissionDenied {
					t.Errorf("roots %d: %s: %v", i, path, refused)
					continue
				}
				text := strings.ReplaceAll(refused.Message, path, "PATH")
				if same == "" {
					same = text
				}
				if text != same {
					t.Errorf("%s is refused with another text:\n%s\n%s", path, text, same)
				}
			}
			if refused := manage(t, s, at("registered"), given); refused != nil {
				t.Errorf("roots %d: a directory that a person registered: %v", i, refused)
			}
			if refused := manage(t, s, at("given/project"), given); (refused == nil) != (len(more) > 0) {
				t.Errorf("roots %d, dry run %v: %v", i, dry, refused)
			}
			if refused := manage(t, s, home, given); refused == nil {
				t.Errorf("roots %d: the data directory was taken", i)
			}
			if i == 0 {
				continue
			}
			if refused := manage(t, s, at("given/other")+"/../other/.", given); refused != nil {
				t.Errorf("roots %d, dry run %v: %v", i, dry, refused)
			}
		}
		must(t, s, "clear", map[string]any{"codebase": at("registered"), "confirm": string(must(t, s, "status", map[string]any{"codebase": at("registered")}).Codebase.ID)})
		must(t, s, "index", map[string]any{"path": at("registered"), "wait": true})
		if i > 0 {
			for _, dir := range []string{"given/project", "given/other"} {
				must(t, s, "clear", map[string]any{"codebase": at(dir), "confirm": string(must(t, s, "status", map[string]any{"codebase": at(dir)}).Codebase.ID)})
			}
		}
	}
}

// A client that was started in / or in a home gave no roots by that, and nobody registers
// those, the data directory or a directory of secrets: a person neither.
func TestNobodyRegistersTheRootAHomeTheDataDirectoryOrSecrets(t *testing.T) {
	userHome := t.TempDir()
	t.Setenv("HOME", userHome)
	write(t, userHome, "project/a.go", "package a\n")
	write(t, userHome, ".ssh/notes/a.md", "text\n")
	write(t, userHome, ".aws/a.md", "text\n")
	home := filepath.Join(userHome, ".local/share/freshet")
	s := connect(t, home)
	for _, cwd := range []string{"/", userHome, "/home", "/root"} {
		refused := manage(t, s, filepath.Join(userHome, "project"), map[string]any{"cwd": cwd})
		if refused == nil || refused.Code != tool.CodePermissionDenied {
			t.Errorf("in %s: %v", cwd, refused)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(userHome, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", userHome, link, home, filepath.Join(home, "store"), filepath.Join(userHome, ".ssh"), filepath.Join(userHome, ".ssh/notes"), filepath.Join(userHome, ".aws")} {
		envelope, err := s.Call(t.Context(), "index", map[string]any{"path": path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if envelope.Error == nil || envelope.Error.Code != tool.CodeInvalidArgument {
			t.Errorf("a person registers %s: %v", path, envelope.Error)
		}
		for _, dry := range []bool{true, false} {
			if manage(t, s, path, map[string]any{"dry_run": dry, "allow_roots": []string{"/"}}) == nil {
				t.Errorf("an agent registers %s, dry run %v", path, dry)
			}
		}
	}
	must(t, s, "index", map[string]any{"path": filepath.Join(userHome, "project"), "wait": true})
}

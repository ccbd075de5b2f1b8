package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// connectLogged is connect with everything that is logged.
func connectLogged(t *testing.T, options Options) (*Session, *lockedBuffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	logged := &lockedBuffer{}
	options.Version, options.ChunkCommand = "test", []string{self, asChild}
	options.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := Connect(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, logged
}

// answerOf makes a call and returns all of its answer, errors included, in both renderings,
// with what was written for the caller meanwhile.
func answerOf(t *testing.T, s *Session, verb string, params map[string]any) string {
	t.Helper()
	var out strings.Builder
	envelope, err := s.Call(t.Context(), verb, params, func(n tool.Notice) error {
		data, err := json.Marshal(n)
		out.Write(data)
		return err
	})
	if err != nil {
		return err.Error()
	}
	data, err := json.Marshal(envelope)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(data)
	out.WriteString(tool.Render(envelope, "markdown"))
	return out.String()
}

// A secret by name is shown by no reader in any layout: plain, ignored, below an ignored
// directory, in nested repositories and submodules, below the directories of secrets; not
// by live and remote reads, searches, exports, recordings, events, explanations and logs.
func TestNoReaderShowsASecretByName(t *testing.T) {
	t.Parallel()
	root := tree(t)
	names := []string{
		".env", ".ENV", "prod.env", ".envrc", "server.pem", "tls.key", "id_rsa", "auth.p8", "kubeconfig", "x.tfstate", "prod.tfvars", "service_account.json",
		".bash_history", ".vault-token", ".cargo/credentials.toml", ".netrc", ".pgpass", ".npmrc", ".git-credentials", "secrets.yaml", ".docker/config.json", "id_ed25519.bak",
	}
	layouts := []string{
		"", "deep/er/", "ignored/", "ignored/deep/", "nested/", "nested/below/", "submodule/", ".ssh/x/", ".aws/", ".gnupg/a/b/", ".kube/", ".azure/", ".config/gcloud/", "pkg0/",
	}
	write(t, root, ".gitignore", "/ignored/\n/pkg0/.*\n*.pem\nprod.env\n")
	write(t, root, "nested/.git/HEAD", "ref: refs/heads/main\n")
	write(t, root, "submodule/.git", "gitdir: ../.git/modules/submodule\n")
	var seeded []string
	for _, layout := range layouts {
		for _, name := range names {
			path := layout + name
			write(t, root, path, fmt.Sprintf("hidden_%d = \"LEAKED %s\"\n", len(seeded), strings.ReplaceAll(path, "/", "_")))
			seeded = append(seeded, path)
		}
	}
	if len(seeded) < 175 {
		t.Fatalf("only %d secrets are seeded", len(seeded))
	}
	s, logged := connectLogged(t, Options{Home: t.TempDir()})
	must(t, s, "index", map[string]any{"path": root})
	shown := 0
	check := func(reader, path, text string) {
		t.Helper()
		if strings.Contains(text, "LEAKED") {
			shown++
			t.Errorf("%s shows %s", reader, path)
		}
	}
	host, err := s.hosting()
	if err != nil || host == nil {
		t.Fatal("the session is not the host", err)
	}
	codebases, err := host.store.Codebases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range seeded {
		for _, target := range []string{path, "./x/../" + path, filepath.Join(root, path), path + ":1-9"} {
			check("read", target, answerOf(t, s, "read", map[string]any{"targets": []string{target}, "codebase": root}))
		}
		check(tool.ToolRead, path, answerOf(t, s, tool.ToolRead, map[string]any{"targets": []string{path}, "codebase": root}))
		check("why", path, answerOf(t, s, "why", map[string]any{"path": path, "codebase": root}))
		request, err := json.Marshal(map[string]string{"ask": "live", "path": merkle.QuotePath(path)})
		if err != nil {
			t.Fatal(err)
		}
		told, err := host.files.Answer(t.Context(), codebases[0].ID, request)
		check("a remote read", path, fmt.Sprint(string(told), err))
		if file, err := host.files.Live(t.Context(), codebases[0], path); err != nil || file.LeftOut != store.LeftOutSecret {
			t.Errorf("%s is read live with %q, %v", path, file.LeftOut, err)
		}
	}
	for _, mode := range []string{"hybrid", "text", "exact", "regex", "symbol", "path"} {
		for _, query := range []string{"hidden", ".env", "hidden_7"} {
			answer := answerOf(t, s, "search", map[string]any{"query": query, "mode": mode, "codebase": root, "limit": 50})
			check("search "+mode, query, answer)
		}
	}
	file := filepath.Join(t.TempDir(), "history")
	check("export", "the index", answerOf(t, s, "export", map[string]any{"codebase": root}))
	check("record", "the history", answerOf(t, s, "record", map[string]any{"file": file}))
	check("events", "the log", answerOf(t, s, "events", map[string]any{}))
	check("status", "the state", answerOf(t, s, "status", map[string]any{"codebase": root}))
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check("the recording", file, string(recorded))
	check("the log", "stderr", logged.String())
	t.Logf("%d secrets seeded, %d shown", len(seeded), shown)
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChooseToken: a file goes before the environment, and a token that can be guessed is
// refused wherever it comes from.
func TestChooseToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long, short := "correct horse battery", "horse"
	for _, c := range []struct{ name, file, environment, want, refused string }{
		{"none", "", "", "", ""},
		{"of the environment", "", long, long, ""},
		{"a short one of the environment", "", short, "", "FRESHET_TOKEN: a token has at least 16"},
		{"of a file", write("good", long+"\n", 0o600), short, long, ""},
		{"a short one of a file", write("short", short, 0o600), long, "", "--token-file: a token has at least 16"},
		{"an empty file", write("empty", "\n", 0o600), long, "", "--token-file: a token has at least 16"},
		{"a file for everybody", write("open", long, 0o644), long, "", "may be read by others"},
		{"no file", filepath.Join(dir, "none"), long, "", "read token"},
	} {
		r := run{}
		r.Token, r.Dir = c.environment, dir
		got, err := r.chooseToken(c.file)
		if got != c.want || (err == nil) != (c.refused == "") || (err != nil && !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

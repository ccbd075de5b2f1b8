package secret_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/freshet/freshet/store/secret"
)

// named is a value that writes itself as text.
type named struct{ text string }

func (n named) MarshalText() ([]byte, error) { return []byte(n.text), nil }

// TestLogShowsNoCredential: a line that quotes a credential does not show it, wherever in
// the record it stands: message, attributes of every type, groups, and attributes that the
// logger was given before. Everything else is written as it is.
func TestLogShowsNoCredential(t *testing.T) {
	t.Parallel()
	const tail = "9f2KxQ7mZp4LwT8vRn3BcY6hJd5GsA1eUoXi"
	const token = "ghp_" + tail
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		for place, write := range map[string]func(*slog.Logger){
			"message":        func(l *slog.Logger) { l.Warn("cannot parse " + token) },
			"string":         func(l *slog.Logger) { l.Warn("m", "line", "x := "+token) },
			"error":          func(l *slog.Logger) { l.Warn("m", "error", fmt.Errorf("read: %w", errors.New("near "+token))) },
			"bytes":          func(l *slog.Logger) { l.Warn("m", "data", []byte(token)) },
			"text marshaler": func(l *slog.Logger) { l.Warn("m", "value", named{token}) },
			"struct":         func(l *slog.Logger) { l.Warn("m", "value", struct{ Token string }{token}) },
			"slice":          func(l *slog.Logger) { l.Warn("m", "values", []string{"a", token}) },
			"group":          func(l *slog.Logger) { l.Warn("m", slog.Group("g", slog.Group("h", "x", token))) },
			"with":           func(l *slog.Logger) { l.With("x", token).WithGroup("g").Warn("m", "y", 1) },
			"below a group":  func(l *slog.Logger) { l.WithGroup("g").Warn("m", "y", token) },
			"told by a key":  func(l *slog.Logger) { l.Warn("m", "password", tail) },
		} {
			var out bytes.Buffer
			write(slog.New(secret.NewLogHandler(handler(&out))))
			if out.Len() == 0 || strings.Contains(out.String(), tail) {
				t.Errorf("%s, %s: %s", name, place, out.String())
			}
		}
	}
	var plain, through bytes.Buffer
	untimed := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&plain, untimed)), slog.New(secret.NewLogHandler(slog.NewTextHandler(&through, untimed)))} {
		log.With("a", 1).WithGroup("g").Warn("a message", "path", "a/b.go", "error", errors.New("no such file"), "list", []int{1, 2}, "ok", true, slog.Group("h", "x", 2.5))
		log.Debug("not enabled")
	}
	if plain.String() != through.String() {
		t.Errorf("a line without credentials differs:\n%s%s", plain.String(), through.String())
	}
}

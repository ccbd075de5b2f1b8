package tool

import (
	"io"
	"log/slog"

	"github.com/freshet/freshet/store/secret"
)

// LogHandler covers credentials in what is logged, as in every other answer of a process.
func LogHandler(next slog.Handler) slog.Handler { return secret.NewLogHandler(next) }

// LogWriter passes on what is logged, each record in one write, with characters that are
// hidden written as escapes, as they are in JSON.
func LogWriter(next io.Writer) io.Writer { return logWriter{next} }

type logWriter struct{ next io.Writer }

func (w logWriter) Write(record []byte) (int, error) {
	if _, err := io.WriteString(w.next, escapeHidden(string(record))); err != nil {
		return 0, err
	}
	return len(record), nil
}

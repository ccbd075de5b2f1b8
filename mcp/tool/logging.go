package tool

import (
	"log/slog"

	"github.com/freshet/freshet/store/secret"
)

// LogHandler covers credentials in what is logged, as in every other answer of a process.
func LogHandler(next slog.Handler) slog.Handler { return secret.NewLogHandler(next) }

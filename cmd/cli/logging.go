package cli

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// logSetting says which log messages go to stderr, and how. An empty member is not set.
type logSetting struct{ level, format string }

// parseLogSetting reads LEVEL or LEVEL,FORMAT, as in FRESHET_LOG; "" sets nothing.
func parseLogSetting(text string) (logSetting, error) {
	level, format, _ := strings.Cut(text, ",")
	s := logSetting{level: level, format: format}
	return s, s.check()
}

func (s logSetting) check() error {
	switch s.level {
	case "", "debug", "info", "warn", "error":
	default:
		return fmt.Errorf("log level %q: want debug, info, warn or error", s.level)
	}
	switch s.format {
	case "", "text", "json":
		return nil
	}
	return fmt.Errorf("log format %q: want text or json", s.format)
}

// slogLevel is the level, or that of the verb when none is set.
func (s logSetting) slogLevel(own slog.Level) slog.Level {
	switch s.level {
	case "debug":
		return slog.LevelDebug
	case "info":
		return slog.LevelInfo
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return own
}

// logFlags lets verbs that log be told what to log.
func (r *run) logFlags(verbs ...*cobra.Command) []*cobra.Command {
	for _, cmd := range verbs {
		cmd.Flags().StringVar(&r.logAsked.level, "log-level", "", "least level of log messages: debug, info, warn or error (default that of FRESHET_LOG)")
		cmd.Flags().StringVar(&r.logAsked.format, "log-format", "", "form of log messages: text or json (default that of FRESHET_LOG)")
	}
	return verbs
}

// logger is the log of a verb on stderr. The flags overrule FRESHET_LOG, which overrules the
// verb's own level. Its first messages name the variables that are set and read by nothing.
func (r *run) logger(own slog.Level) (*slog.Logger, error) {
	if err := r.logAsked.check(); err != nil {
		return nil, usagef("--log-level, --log-format: %w", err)
	}
	chosen, err := parseLogSetting(r.LogSetting)
	if err != nil {
		return nil, usagef("FRESHET_LOG: %w", err)
	}
	if r.logAsked.level != "" {
		chosen.level = r.logAsked.level
	}
	if r.logAsked.format != "" {
		chosen.format = r.logAsked.format
	}
	options := &slog.HandlerOptions{Level: chosen.slogLevel(own)}
	var handler slog.Handler = slog.NewTextHandler(tool.LogWriter(r.Stderr), options)
	if chosen.format == "json" {
		handler = slog.NewJSONHandler(tool.LogWriter(r.Stderr), options)
	}
	log := slog.New(tool.LogHandler(handler))
	for _, name := range unknownVariables(r.Environment) {
		log.Warn("environment variable is unknown and ignored", "name", name, "nearest", nearestVariable(name))
	}
	return log, nil
}

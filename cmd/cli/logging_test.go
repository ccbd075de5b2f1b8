package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// logging runs a command line whose processes log one message of each level and end.
func logging(t *testing.T, p Program, args ...string) (code int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ended := errors.New("ended")
	speak := func(log *slog.Logger) error {
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			log.Log(t.Context(), level, "spoke at "+level.String())
		}
		return ended
	}
	p.Stdout, p.Stderr, p.Dir, p.Home, p.Stdin = &out, &errs, t.TempDir(), t.TempDir(), strings.NewReader("")
	p.Connect = func(_ context.Context, _ string, log *slog.Logger) (Session, error) { return nil, speak(log) }
	p.Agents, p.Workers = loggingAgents{speak: speak}, loggingWorkers{speak}
	p.Evaluate = func(_ context.Context, e Evaluation) error { return speak(e.Log) }
	p.Doctor = func(context.Context, string, string) []tool.Finding { return nil }
	code = p.Run(t.Context(), args)
	return code, errs.String() + out.String()
}

type loggingAgents struct {
	Agents
	speak func(*slog.Logger) error
}

func (a loggingAgents) Stdio(_ context.Context, s Service) error { return a.speak(s.Log) }
func (a loggingAgents) HTTP(_ context.Context, s Service, _ HTTP, _ func(url, link string)) error {
	return a.speak(s.Log)
}

type loggingWorkers struct{ speak func(*slog.Logger) error }

func (w loggingWorkers) Work(_ context.Context, work Work, _ func(string)) error {
	return w.speak(work.Log)
}
func (w loggingWorkers) Node(_ context.Context, n Node, _ func(string)) error { return w.speak(n.Log) }

// verbs are the verbs of the command line, with arguments that they run with.
func verbs(t *testing.T) map[string][]string {
	t.Helper()
	needs := map[string][]string{
		"search": {"q"}, "read": {"a.go"}, "why": {"a.go"}, "diff": {"1"}, "record": {"f"}, "clear": {"c"}, "export": {"--canonical"},
		"up": {"--no-token"}, "worker": {"--role", "chunk"}, "nats": {"--name", "n", "--dir", "d"}, "eval": {"--queries", "q", "--repos", "r"},
	}
	all := map[string][]string{}
	for _, cmd := range (&run{}).root().Commands() {
		all[cmd.Name()] = append([]string{cmd.Name()}, needs[cmd.Name()]...)
	}
	return all
}

func hasLogFlags(cmd *cobra.Command) bool {
	return cmd.Flags().Lookup("log-level") != nil && cmd.Flags().Lookup("log-format") != nil
}

// TestEveryVerbThatLogsTakesALevel walks all verbs: those that log show debug messages when
// asked to, by flag or by environment, in either form, and refuse a level that is none. The
// others do not have the flags.
func TestEveryVerbThatLogsTakesALevel(t *testing.T) {
	t.Parallel()
	var silent []string
	for _, cmd := range (&run{}).root().Commands() {
		if !hasLogFlags(cmd) {
			silent = append(silent, cmd.Name())
			continue
		}
		args := verbs(t)[cmd.Name()]
		t.Run(cmd.Name(), func(t *testing.T) {
			t.Parallel()
			if _, text := logging(t, Program{}, args...); strings.Contains(text, "spoke at DEBUG") || !strings.Contains(text, "spoke at WARN") {
				t.Errorf("without a level: %s", text)
			}
			if _, text := logging(t, Program{}, append(args, "--log-level", "debug")...); !strings.Contains(text, "level=DEBUG msg=\"spoke at DEBUG\"") {
				t.Errorf("--log-level debug: %s", text)
			}
			if _, text := logging(t, Program{LogSetting: "debug,json"}, args...); !isJSONLog(text, "spoke at DEBUG") {
				t.Errorf("FRESHET_LOG=debug,json: %s", text)
			}
			if code, text := logging(t, Program{}, append(args, "--log-level", "loud")...); code != tool.ExitUsage || !strings.Contains(text, "want debug, info, warn or error") {
				t.Errorf("--log-level loud: exit code %d, %s", code, text)
			}
		})
	}
	slices.Sort(silent)
	if want := []string{"chunk-child", "docs", "doctor", "install", "version"}; !slices.Equal(silent, want) {
		t.Errorf("verbs without --log-level and --log-format: %q, want %q", silent, want)
	}
}

// isJSONLog reports whether a text has a line that is a JSON log message.
func isJSONLog(text, message string) bool {
	for line := range strings.Lines(text) {
		var entry struct{ Msg string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == message {
			return true
		}
	}
	return false
}

// TestFlagsOverruleTheVariableOfTheLog: a flag goes before FRESHET_LOG, each member by itself,
// and what is neither a level nor a form is refused by its name.
func TestFlagsOverruleTheVariableOfTheLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, setting string
		flags         []string
		code          int
		has, lacks    string
	}{
		{"variable", "info", nil, 1, "spoke at INFO", "spoke at DEBUG"},
		{"flag over variable", "error", []string{"--log-level", "debug"}, 1, "spoke at DEBUG", "want"},
		{"flag of the form", "debug,json", []string{"--log-format", "text"}, 1, "msg=\"spoke at DEBUG\"", "{\"time\""},
		{"flag keeps the level", "error", []string{"--log-format", "json"}, 1, `"msg":"spoke at ERROR"`, "spoke at WARN"},
		{"form alone", ",json", nil, 1, `"msg":"spoke at WARN"`, "spoke at INFO"},
		{"wrong variable", "verbose", nil, tool.ExitUsage, `FRESHET_LOG: log level "verbose"`, "spoke"},
		{"wrong form in the variable", "debug,xml", nil, tool.ExitUsage, `FRESHET_LOG: log format "xml"`, "spoke"},
		{"wrong form", "", []string{"--log-format", "xml"}, tool.ExitUsage, "want text or json", "spoke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, text := logging(t, Program{LogSetting: c.setting}, append([]string{"status"}, c.flags...)...)
			if code != c.code || !strings.Contains(text, c.has) || strings.Contains(text, c.lacks) {
				t.Errorf("exit code %d, want %d; want %q and not %q in\n%s", code, c.code, c.has, c.lacks, text)
			}
		})
	}
}

// TestUnknownVariablesAreReported: every known variable with one letter changed, left out or
// doubled is reported with the name it was meant to be, on stderr and by doctor; known ones
// and those of tests are not, and no value is shown.
func TestUnknownVariablesAreReported(t *testing.T) {
	t.Parallel()
	known := []string{"PATH=/bin", "FRESHET_TEST_MODEL=1", "FRESHET_BENCH_TREE=1"}
	for _, name := range Variables() {
		known = append(known, name+"=x")
	}
	if got := unknownVariables(known); len(got) > 0 {
		t.Errorf("known variables are reported: %q", got)
	}
	for _, name := range Variables() {
		last := len(name) - 1
		for _, typo := range []string{name[:last] + name[last:] + name[last:], strings.ToLower(name)} {
			if got := unknownVariables([]string{typo + "=x"}); !slices.Equal(got, []string{typo}) || nearestVariable(typo) != name {
				t.Errorf("%s: reported %q, nearest %s", typo, got, nearestVariable(typo))
			}
		}
	}
	typo := Program{Environment: []string{"FRESHET_EMBEDER=secret-value"}}
	for _, args := range [][]string{{"status"}, {"mcp"}, {"worker", "--role", "chunk"}, {"doctor"}} {
		_, text := logging(t, typo, args...)
		if !strings.Contains(text, "FRESHET_EMBEDER") || !strings.Contains(text, "FRESHET_EMBEDDER") || strings.Contains(text, "secret-value") {
			t.Errorf("%s does not report FRESHET_EMBEDER: %s", args[0], text)
		}
	}
	if code, text := logging(t, Program{LogSetting: "loud"}, "doctor"); code != tool.ExitError || !strings.Contains(text, "FRESHET_LOG") {
		t.Errorf("doctor with a wrong FRESHET_LOG: exit code %d, %s", code, fmt.Sprint(text))
	}
}

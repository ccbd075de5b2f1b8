package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/freshet/freshet/cmd/cli"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata/script")

// TestScripts runs the command line over a world in memory that lasts for a script.
//
//	freshet ARG...        runs freshet; cmp stdout, stderr and code check the outcome
//	code N                checks the exit code of the last run
//	onejson               checks that stdout is exactly one JSON value
//	write PATH TEXT...    puts a file of those lines on the disk of /src/web
//	remove PATH           takes it away
//	knob NAME [VALUE]     changes how the world behaves
//	chdir DIR             changes the working directory
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Values[scene{}] = &scene{world: tooltest.New(), dir: "/src/web"}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"freshet": runFreshet, "code": checkCode, "onejson": checkJSON,
			"write": write, "remove": remove, "knob": knob, "chdir": chdir,
		},
	})
}

type scene struct {
	world  *tooltest.World
	dir    string
	code   int
	stdout string
}

func of(ts *testscript.TestScript) *scene { return ts.Value(scene{}).(*scene) }

// session dispatches in the same process, by way of JSON as a socket does.
type session struct{ world *tooltest.World }

func (s session) Call(ctx context.Context, verb string, params any, observe tool.Observer) (*tool.Envelope, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(tool.Dispatch(ctx, s.world.Backend(), verb, raw, observe))
	if err != nil {
		return nil, err
	}
	var e tool.Envelope
	return &e, json.Unmarshal(data, &e)
}

func (session) Close() error { return nil }

func runFreshet(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.world.Running != nil && s.world.Running.ID == "interrupted" {
		cancel()
	}
	s.code = cli.Program{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Dir: s.dir, Home: "/data/freshet",
		Build: tool.Build{Version: "v1.2.3", Revision: "abc", Go: "go1.26"},
		Connect: func(_ context.Context, home string, _ *slog.Logger) (cli.Session, error) {
			if strings.Contains(home, "broken") {
				return nil, fmt.Errorf("open store: %w", store.ErrNewerSchema)
			}
			return session{s.world}, nil
		},
		Now: tooltest.Now,
	}.Run(ctx, args)
	s.stdout = stdout.String()
	_, _ = io.Copy(ts.Stdout(), &stdout)
	_, _ = io.Copy(ts.Stderr(), &stderr)
	if (s.code != 0) != neg {
		ts.Fatalf("freshet %q: exit code %d", args, s.code)
	}
}

func checkCode(ts *testscript.TestScript, _ bool, args []string) {
	if want, err := strconv.Atoi(args[0]); err != nil || of(ts).code != want {
		ts.Fatalf("exit code %d, want %s", of(ts).code, args[0])
	}
}

func checkJSON(ts *testscript.TestScript, _ bool, _ []string) {
	decoder := json.NewDecoder(strings.NewReader(of(ts).stdout))
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	if err := decoder.Decode(&value); err != io.EOF {
		ts.Fatalf("stdout has more than one JSON value")
	}
	for _, member := range []string{"status", "codebase", "state", "freshness", "results", "total_count",
		"total_is_exact", "returned_count", "remaining_count", "has_more", "next_cursor", "truncated",
		"original_size_chars", "approx_tokens", "warnings", "next_steps", "latency_ms"} {
		if v, ok := value[member]; !ok || v == nil {
			ts.Fatalf("member %s is missing or null", member)
		}
	}
}

func write(ts *testscript.TestScript, _ bool, args []string) {
	of(ts).world.Write("/src/web", args[0], strings.Join(args[1:], "\n")+"\n")
}

func remove(ts *testscript.TestScript, _ bool, args []string) {
	of(ts).world.Remove("/src/web", args[0])
}

func chdir(ts *testscript.TestScript, _ bool, args []string) { of(ts).dir = args[0] }

func knob(ts *testscript.TestScript, _ bool, args []string) {
	w := of(ts).world
	switch args[0] {
	case "no-catch-up":
		w.NoCatchUp = true
	case "unprovable":
		w.Unprovable = args[1]
	case "running", "interrupted":
		w.Running = &tool.Operation{ID: args[0], Kind: tool.OperationIndex, Phase: tool.PhaseChunking,
			Counts: tool.Counts{FilesTotal: 4, FilesChunked: 2}}
	case "failing":
		w.Failing = args[1]
	case "secret":
		w.Secrets = append(w.Secrets, args[1])
	case "drift":
		w.Drift = []tool.Difference{{Side: "index", Path: "a.go", Line: "a.go 0 10"}}
	case "embedding":
		w.CannotEmbed = true
		w.Requires = []store.FieldChange{{Label: "embedding.model", Old: "small", New: "large", Side: store.QuerySide}}
	case "bury":
		w.Bury(args[1])
	default:
		ts.Fatalf("unknown knob %s", args[0])
	}
}

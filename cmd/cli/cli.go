package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// Session makes calls on a data directory.
type Session interface {
	// Call makes one call and returns its envelope. An error speaks of reaching the index;
	// what the call itself has to say is in the envelope.
	Call(ctx context.Context, verb string, params any, observe tool.Observer) (*tool.Envelope, error)
	// Close ends the session. It may be called twice.
	Close() error
}

// Connector opens a session on a data directory.
type Connector func(ctx context.Context, home string, log *slog.Logger) (Session, error)

// Program is what the command line needs of its process. Connect, Stdout and Stderr are
// required.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal is set when Stderr is one: progress then redraws a line of its own.
	Terminal bool
	// Dir is the working directory, absolute, with symlinks resolved.
	Dir string
	// Home is the data directory unless --home names another.
	Home string
	// LogSetting is LEVEL or LEVEL,FORMAT, what verbs log unless their flags say otherwise; ""
	// leaves it to the verb.
	LogSetting string
	// Environment has the settings of the process, as os.Environ returns them: names that begin
	// as those of freshet do and that nothing reads are reported.
	Environment []string
	Build       tool.Build
	Connect     Connector
	// ServeChild is the loop of a parsing child process.
	ServeChild func(r io.Reader, w io.Writer) error
	// Agents serves mcp and up.
	Agents Agents
	// Workers serves worker and nats.
	Workers Workers
	// Parent returns the id of the parent process; nil means that there is none to watch.
	Parent func() int
	// AllowRoots are directories below which agents may register others, beside those that
	// mcp and up are given.
	AllowRoots []string
	// Token is what clients of up, and those who ask a worker for metrics, must present unless
	// a file holds it.
	Token string
	// HomeToken returns the token of a data directory, which the first call makes, and the file
	// that holds it.
	HomeToken func(home string) (token, file string, err error)
	// Doctor is what doctor shows.
	Doctor Doctor
	// Evaluate is what eval does.
	Evaluate Evaluator
	// Executable is this program, absolute, and UserHome the user's home directory.
	Executable, UserHome string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Run runs one command line, without the program's name, and returns its exit code.
// Cancelling ctx interrupts it; what was done is kept.
func (p Program) Run(ctx context.Context, args []string) int {
	if p.Now == nil {
		p.Now = time.Now
	}
	r := &run{Program: p, json: wantsJSON(args)}
	root := r.root()
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return r.fail(ctx, root, args, err)
	}
	return r.code
}

// run is one command line on its way.
type run struct {
	Program
	json bool
	code int
	// logAsked is what the flags say of the log.
	logAsked logSetting
}

// fail reports an error that came before an envelope did. Whatever cobra says is about the
// arguments; everything else comes as a *tool.Error.
func (r *run) fail(ctx context.Context, root *cobra.Command, args []string, err error) int {
	var known *tool.Error
	if !errors.As(err, &known) {
		known = tool.Errorf(tool.CodeInvalidArgument, "%w", err)
	}
	if known.Code == tool.CodeInvalidArgument && len(known.NextSteps) == 0 {
		help := root.CommandPath()
		if cmd, _, err := root.Find(args); err == nil {
			help = cmd.CommandPath()
		}
		known = known.Next(usageStep(help))
	}
	if ctx.Err() != nil {
		known = tool.AsError(context.Canceled)
	}
	r.print(tool.Failed(known))
	return r.code
}

// wantsJSON looks for --json before the arguments are parsed, so that an error in them is
// reported as asked too.
func wantsJSON(args []string) bool {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.ContainsFunc(args[:end], func(arg string) bool {
		return arg == "--json" || strings.HasPrefix(arg, "--json=t") || arg == "--json=1"
	})
}

func (r *run) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "freshet",
		Short: "A code index that is never silently stale",
		Long: "freshet keeps a code index true to the files on disk and searches it. Every answer says\n" +
			"how fresh it is, and proves it.",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no verb %s", args[0])
			}
			return usagef("name a verb: %s", strings.Join(append(tool.Verbs(), "version"), ", "))
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !r.json {
			help(cmd, args)
			return
		}
		var text strings.Builder
		cmd.SetOut(&text)
		help(cmd, args)
		r.print(tool.Succeeded(tool.Report{Usage: text.String()}))
	})
	root.PersistentFlags().BoolVar(&r.json, "json", r.json, "print one JSON value on stdout and nothing else")
	root.PersistentFlags().StringVar(&r.Home, "home", r.Home, "data directory")
	root.AddCommand(r.logFlags(r.searchVerb(), r.readVerb(), r.statusVerb(), r.whyVerb())...)
	root.AddCommand(r.logFlags(r.indexVerb(), r.syncVerb(), r.reindexVerb(), r.cancelVerb(), r.clearVerb())...)
	root.AddCommand(r.logFlags(r.snapshotsVerb(), r.diffVerb(), r.collectVerb())...)
	root.AddCommand(r.logFlags(r.verifyVerb(), r.exportVerb(), r.replayVerb(), r.recordVerb(), r.eventsVerb(), r.deadLettersVerb())...)
	root.AddCommand(r.logFlags(r.mcpVerb(), r.upVerb(), r.workerVerb(), r.natsVerb(), r.evalVerb())...)
	root.AddCommand(r.docsVerb(), r.installVerb(), r.doctorVerb())
	root.AddCommand(r.versionVerb(), r.chunkChildVerb())
	return root
}

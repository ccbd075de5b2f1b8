package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// Agents serves the tools of package tool to agents.
type Agents interface {
	// Stdio serves one client on Stdin and Stdout until it hangs up or ctx ends.
	Stdio(ctx context.Context, s Service) error
	// HTTP serves many clients at an address until ctx ends. It calls ready with the
	// address once it listens, and a link that opens the status page once, "" without a token.
	HTTP(ctx context.Context, s Service, h HTTP, ready func(url, link string)) error
	// Reference is the tool reference that is made from the parameters of the tools, and
	// the number of characters by which the list of tools is longer than allowed.
	Reference() (text string, excess int, err error)
}

// Service is what serving needs, by whatever transport.
type Service struct {
	// Home is the data directory, Dir the working directory of a local client.
	Home, Dir string
	In        io.Reader
	Out       io.Writer
	// Telemetry takes a line for each call; QueryText has it hold the query.
	Telemetry  io.Writer
	QueryText  bool
	Structured bool
	// AllowRoots are the directories below which agents may register others.
	AllowRoots []string
	Version    string
	// Idle leaves the work on a shared log to workers.
	Idle bool
	Log  *slog.Logger
}

// HTTP says where and to whom to serve.
type HTTP struct {
	Address string
	// Token is what clients must present, "" for nothing; it is needed for an address that
	// others reach.
	Token string
	// Names are the host names by which others reach the address.
	Names []string
}

func (r *run) service() (Service, error) {
	home, err := r.home()
	if err != nil {
		return Service{}, err
	}
	log, err := r.logger(slog.LevelWarn)
	if err != nil {
		return Service{}, err
	}
	return Service{
		Home: home, Dir: r.Dir, In: r.Stdin, Out: r.Stdout, Telemetry: r.Stderr, Version: r.Build.Version,
		Log: log,
	}, nil
}

func (r *run) mcpVerb() *cobra.Command {
	var s Service
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools to one agent over standard input and output",
		Long: "mcp speaks the Model Context Protocol on stdin and stdout; an agent starts it. Several may\n" +
			"run at once: one is the host of the data directory, the rest attach to it. It ends with\n" +
			"its parent. One line of telemetry for each call goes to stderr.\n\n" +
			allowRootHelp,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.json {
				return usagef("mcp writes its protocol to stdout: give it without --json")
			}
			base, err := r.service()
			if err != nil {
				return err
			}
			base.QueryText, base.Structured = s.QueryText, s.Structured
			if base.AllowRoots, err = r.allowRoots(s.AllowRoots); err != nil {
				return err
			}
			ctx, stop := withParent(cmd.Context(), r.Parent, parentPause)
			defer stop()
			if err := r.Agents.Stdio(ctx, base); err != nil {
				return unreachable(base.Home, err)
			}
			return nil
		},
	}
	serviceFlags(cmd, &s)
	return cmd
}

func serviceFlags(cmd *cobra.Command, s *Service) {
	cmd.Flags().BoolVar(&s.QueryText, "telemetry-query", false, "have the telemetry hold queries, not only their hashes")
	cmd.Flags().StringArrayVar(&s.AllowRoots, "allow-root", nil, "directory below which agents may register others; may be repeated")
	cmd.Flags().BoolVar(&s.Structured, "structured", false, "send structured content, with an output schema, beside the text")
}

// parentPause is the time between looks for the parent.
const parentPause = 500 * time.Millisecond

// withParent ends a context with the process that is the parent now. A client that was
// killed while another process holds its end of the pipe leaves no end of input to see.
func withParent(ctx context.Context, parent func() int, every time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if parent == nil {
		return ctx, cancel
	}
	first := parent()
	watched := make(chan struct{})
	ticker := time.NewTicker(every)
	go func() { // ends with ctx, which the returned function ends and waits for
		defer close(watched)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if parent() != first {
					cancel()
				}
			}
		}
	}()
	return ctx, func() {
		cancel()
		ticker.Stop()
		<-watched
	}
}

// defaultAddress is where up listens unless told otherwise.
const defaultAddress = "127.0.0.1:7433"

func (r *run) upVerb() *cobra.Command {
	var s Service
	var h HTTP
	var tokenFile string
	var noToken bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the long-lived host and serve the tools over HTTP",
		Long: "up keeps the index of its data directory and serves agents over streamable HTTP at /mcp, a\n" +
			"status page at /, metrics at /metrics and its health at /healthz and /readyz. It listens on\n" +
			"loopback, where every user of the machine reaches it, so clients present a token: that of\n" +
			"--token-file or FRESHET_TOKEN, else the one in the data directory, which the first start\n" +
			"makes and `freshet install --http` tells clients. --no-token turns it off, on loopback only.\n\n" +
			allowRootHelp,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := r.service()
			if err != nil {
				return err
			}
			base.QueryText, base.Structured, base.Idle, base.Dir = s.QueryText, s.Structured, s.Idle, ""
			if base.AllowRoots, err = r.allowRoots(append(s.AllowRoots, r.workingRoot()...)); err != nil {
				return err
			}
			from := ""
			if !noToken {
				if h.Token, from, err = r.serverToken(tokenFile, base.Home); err != nil {
					return err
				}
			}
			err = r.Agents.HTTP(cmd.Context(), base, h, func(url, link string) { r.ready(url, link, from) })
			var known *tool.Error
			if err != nil && !errors.As(err, &known) {
				return unreachable(base.Home, err)
			}
			return err
		},
	}
	serviceFlags(cmd, &s)
	cmd.Flags().StringVar(&h.Address, "listen", defaultAddress, "address to listen on")
	cmd.Flags().StringArrayVar(&h.Names, "name", nil, "host name by which others reach the address; may be repeated")
	cmd.Flags().BoolVar(&s.Idle, "idle", false, "in a cluster: leave chunking, embedding and sealing to workers")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the token that clients must present; only its owner may read it")
	cmd.Flags().BoolVar(&noToken, "no-token", false, "serve every user of this machine, without a token")
	cmd.MarkFlagsMutuallyExclusive("no-token", "token-file")
	return cmd
}

// ready tells whoever started up where it serves, and where the token is from.
func (r *run) ready(url, link, from string) {
	if r.json {
		r.print(tool.Succeeded(tool.Report{Usage: url}))
		return
	}
	text := fmt.Sprintf("serving agents at %s\n", url)
	if from == "" {
		text += "no token is asked for: every user of this machine is served\n"
	} else {
		text += fmt.Sprintf("clients present the token of %s; `freshet install --http --write CLIENT` tells them\n"+
			"status page, for one browser within ten minutes: %s\n", tool.QuotePath(from), link)
	}
	_, _ = io.WriteString(r.Stdout, text) // the server goes on without it
}

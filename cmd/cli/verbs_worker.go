package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// Work says what a worker does.
type Work struct {
	// Roles are chunk, embed and apply.
	Roles []string
	// Concurrency is how many events of edits each of them has in hand at once, and of large
	// changes twice as many; 0 leaves it open.
	Concurrency int
	// Health is an address for health and metrics; "" means none. Token is what those who
	// ask for metrics must present, "" for nothing. An address beyond loopback needs one.
	Health, Token string
	Log           *slog.Logger
}

// Workers run without a tree and without a data directory.
type Workers interface {
	// Work works until ctx ends. It calls ready with the address of its health once it takes
	// work. An error of a role that does not exist is a *tool.Error.
	Work(ctx context.Context, w Work, ready func(health string)) error
	// Node runs one server of a NATS cluster until ctx ends, and calls ready with its
	// address once it takes clients.
	Node(ctx context.Context, n Node, ready func(url string)) error
}

// Node is a server of a NATS cluster on loopback.
type Node struct {
	Name, Dir string
	Port      int
	// Advertise is the HOST:PORT that clients are told; "" means where it listens.
	Advertise string
	Cluster   string
	// ClusterPort is this server's among the cluster's Routes, HOST:PORT each.
	ClusterPort int
	Routes      []string
	Log         *slog.Logger
}

func (r *run) workerVerb() *cobra.Command {
	var w Work
	var tokenFile string
	cmd := &cobra.Command{
		Use:   "worker --role chunk|embed|apply",
		Short: "Add a worker to a cluster",
		Long: "worker takes work from the event log at FRESHET_NATS_URL and keeps what it makes in the store\n" +
			"at FRESHET_DATABASE_URL. Any number may run, on any host; --role may be given several times.\n" +
			"Of the workers with role apply one at a time seals, and another takes over when it ends. Its\n" +
			"health listens on loopback; anything wider needs a token, from FRESHET_TOKEN or --token-file,\n" +
			"which metrics are then given for.",
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(w.Roles) == 0 {
				return usagef("name a role: --role chunk, embed or apply")
			}
			if w.Concurrency < 0 {
				return usagef("--concurrency: want a number above 0")
			}
			var err error
			if w.Token, err = r.chooseToken(tokenFile); err != nil {
				return err
			}
			if w.Log, err = r.logger(slog.LevelInfo); err != nil {
				return err
			}
			err = r.Workers.Work(cmd.Context(), w, func(health string) { r.begun("working", health) })
			return r.outage(cmd.Context(), err)
		},
	}
	cmd.Flags().StringSliceVar(&w.Roles, "role", nil, "what to do: chunk, embed or apply; may be repeated")
	cmd.Flags().IntVar(&w.Concurrency, "concurrency", 0, "events that each role has in hand at once, of large changes twice as many")
	cmd.Flags().StringVar(&w.Health, "health", "", "address for /healthz, /readyz and /metrics")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the token that metrics are given for; only its owner may read it")
	return cmd
}

// outage is the error of a verb that runs until it is told to end.
func (r *run) outage(ctx context.Context, err error) error {
	var known *tool.Error
	switch {
	case err == nil, ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &known):
		return err
	}
	return tool.Errorf(tool.CodeStoreUnavailable, "%w", err)
}

// begun tells whoever started a process that it does what it was started for.
func (r *run) begun(what, url string) {
	if r.json {
		r.print(tool.Succeeded(tool.Report{Usage: url}))
		return
	}
	if url != "" {
		what += " at " + url
	}
	_, _ = fmt.Fprintln(r.Stdout, what) // it goes on without a reader
}

func (r *run) natsVerb() *cobra.Command {
	var n Node
	cmd := &cobra.Command{
		Use:    "nats --name NAME --dir DIR",
		Short:  "Run one server of a NATS cluster on loopback",
		Hidden: true,
		Args:   atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n.Name == "" || n.Dir == "" {
				return usagef("nats needs --name and --dir")
			}
			n.Dir = r.absolute(n.Dir)
			var err error
			if n.Log, err = r.logger(slog.LevelWarn); err != nil {
				return err
			}
			return r.outage(cmd.Context(), r.Workers.Node(cmd.Context(), n, func(url string) { r.begun("serving NATS", url) }))
		},
	}
	cmd.Flags().StringVar(&n.Name, "name", "", "name in the cluster")
	cmd.Flags().StringVar(&n.Dir, "dir", "", "directory of its files")
	cmd.Flags().IntVar(&n.Port, "port", 0, "port of clients; 0 takes any")
	cmd.Flags().StringVar(&n.Advertise, "advertise", "", "HOST:PORT that clients are told, of a relay")
	cmd.Flags().StringVar(&n.Cluster, "cluster", "", "name of the cluster")
	cmd.Flags().IntVar(&n.ClusterPort, "cluster-port", 0, "port of the other servers")
	cmd.Flags().StringSliceVar(&n.Routes, "route", nil, "HOST:PORT of each server of the cluster; may be repeated")
	return cmd
}

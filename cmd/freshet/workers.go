package main

import (
	"context"
	"os"

	"github.com/freshet/freshet/cmd/cli"
	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/worker"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus/natsserver"
)

// settings are those of the cluster that the environment names, if it names one.
func settings() cluster.Settings {
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "" // the settings ask for FRESHET_PLACE then
	}
	return cluster.FromEnvironment(os.Getenv, hostname)
}

// workers runs what needs no data directory.
type workers struct {
	cluster cluster.Settings
	// children is the command of a parser child.
	children []string
	services services
}

// Work runs a worker.
func (w workers) Work(ctx context.Context, work cli.Work, ready func(health string)) error {
	if !w.cluster.Shared() {
		return tool.Errorf(tool.CodeInvalidArgument, "a worker needs a cluster: set FRESHET_NATS_URL and FRESHET_DATABASE_URL")
	}
	if err := w.cluster.Check(); err != nil {
		return tool.Errorf(tool.CodeInvalidArgument, "%w", err)
	}
	var roles []pipeline.Role
	for _, name := range work.Roles {
		role, err := pipeline.ParseRole(name)
		if err != nil {
			return tool.Errorf(tool.CodeInvalidArgument, "--role: %w", err)
		}
		roles = append(roles, role)
	}
	embedder, err := w.services.embed(ctx, "")
	if err != nil {
		return err
	}
	return worker.Run(ctx, worker.Options{
		Provider: embedder,
		Cluster:  w.cluster, Roles: roles, Concurrency: work.Concurrency, ChunkCommand: w.children,
		Health: work.Health, Token: work.Token, Log: work.Log,
	}, ready)
}

// Node runs a NATS server.
func (workers) Node(ctx context.Context, n cli.Node, ready func(url string)) error {
	server, err := natsserver.Start(natsserver.Options{
		Name: n.Name, Dir: n.Dir, Port: n.Port, Advertise: n.Advertise, Cluster: n.Cluster, ClusterPort: n.ClusterPort, Routes: n.Routes, Log: n.Log,
	})
	if err != nil {
		return err
	}
	ready(server.URL())
	<-ctx.Done()
	return server.Close()
}

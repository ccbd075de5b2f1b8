package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/freshet/freshet/cmd/cli"
	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/host"
	mcpserver "github.com/freshet/freshet/mcp"
	"github.com/freshet/freshet/pipeline"
)

// agents serves the tools over a session of the host.
type agents struct {
	// children is the command of a parser child.
	children []string
	cluster  cluster.Settings
	services services
}

// drain is how long a host that serves one agent lets the calls of other processes end: it
// is to be gone soon after its agent, and the others call again.
const drain = 500 * time.Millisecond

// session makes the session of a server; patience is host.Options.DrainTimeout.
func (a agents) session(s cli.Service, patience time.Duration) *host.Session {
	o := host.Options{
		Home: s.Home, Version: s.Version, ChunkCommand: a.children, DrainTimeout: patience, Watch: true,
		Cluster: a.cluster, Provider: a.services.embed, Reranking: a.services.rerank, Log: s.Log,
	}
	if s.Idle {
		o.Roles = []pipeline.Role{}
	}
	return host.NewSession(o)
}

func (a agents) server(session *host.Session, s cli.Service) (*mcpserver.Server, error) {
	return mcpserver.New(session, mcpserver.Options{
		Version: s.Version, Dir: s.Dir, AllowRoots: s.AllowRoots, Structured: s.Structured, Telemetry: s.Telemetry, QueryText: s.QueryText,
		Metrics: session, Ready: session.Ready, Log: s.Log,
	})
}

// Stdio serves one client. The session warms up beside it, so that the client need not
// wait for the index to say hello.
func (a agents) Stdio(ctx context.Context, s cli.Service) error {
	session := a.session(s, drain)
	server, err := a.server(session, s)
	if err != nil {
		return err
	}
	warm := warming(ctx, session, s.Log)
	err = server.ServeStdio(ctx, s.In, s.Out)
	warm()
	return errors.Join(err, session.Close())
}

// warming makes the session the host if there is none; the returned function waits for it.
func warming(ctx context.Context, session *host.Session, log *slog.Logger) (wait func()) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := session.Warm(ctx); err != nil && ctx.Err() == nil {
			log.Warn("data directory cannot be opened", "error", err)
		}
	}()
	return func() {
		stop()
		<-done
	}
}

// HTTP serves many clients.
func (a agents) HTTP(ctx context.Context, s cli.Service, h cli.HTTP, ready func(url, link string)) error {
	session := a.session(s, 0)
	server, err := a.server(session, s)
	if err != nil {
		return err
	}
	if err := session.Warm(ctx); err != nil {
		return err
	}
	err = server.ServeHTTP(ctx, mcpserver.HTTPOptions{Address: h.Address, Token: h.Token, Names: h.Names}, ready)
	return errors.Join(err, session.Close())
}

// Reference returns the tool reference.
func (agents) Reference() (text string, excess int, err error) {
	if text, err = mcpserver.Reference(); err != nil {
		return "", 0, err
	}
	size, err := mcpserver.ListingSize()
	return text, max(0, size-mcpserver.MaxListing), err
}

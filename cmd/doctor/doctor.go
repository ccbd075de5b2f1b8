// Package doctor examines what freshet stands on, and says of each thing whether it is good,
// poor or bad, and what to do about it. It becomes no host and repairs nothing.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

// Options of Diagnose. Home is required.
type Options struct {
	// Home is the data directory.
	Home string
	// Version is that of the binary.
	Version string
	// ChunkCommand starts a chunk child.
	ChunkCommand []string
	// Cluster says where log and store are shared; the zero value keeps both in Home.
	Cluster cluster.Settings
	// Provider opens the embedding provider; nil means the built-in model.
	Provider func(ctx context.Context, home string) (embedding.Querier, error)
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means discard
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Provider == nil {
		o.Provider = func(context.Context, string) (embedding.Querier, error) { return builtin.New(), nil }
	}
	return o
}

// Diagnose examines what freshet stands on: the data directory, the host that there is, the
// limits of the system, the repository at dir, the model, the sockets, and of a cluster the
// servers, streams, tables and clocks. Of a data directory it reads all of the store and of
// the log, also where those do not open. It becomes no host and changes nothing, apart from
// a file in the data directory that it removes at once.
func Diagnose(ctx context.Context, opts Options, dir string) []tool.Finding {
	opts = opts.withDefaults()
	findings := []tool.Finding{
		good("version", fmt.Sprintf("freshet %s, protocol %d, %s on %s", opts.Version, socket.Protocol, runtime.Version(), runtime.GOARCH)),
		diagnoseHome(opts.Home), diagnoseDisk(opts.Home), diagnoseHost(ctx, opts),
	}
	findings = append(findings, diagnoseData(ctx, opts)...)
	findings = append(findings, diagnoseLimits()...)
	findings = append(findings, diagnoseParsers(opts.ChunkCommand)...)
	model, dimension := diagnoseProvider(ctx, opts)
	findings = append(findings, diagnoseGit(dir), model)
	findings = append(findings, diagnoseCluster(ctx, opts, dimension)...)
	return append(findings, diagnoseSockets(opts.Home)...)
}

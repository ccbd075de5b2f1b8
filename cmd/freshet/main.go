// Freshet keeps a code index true to the files on disk, and searches it with a verdict on
// its freshness. See package cli for the verbs.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/mattn/go-isatty"

	"github.com/freshet/freshet/cmd/cli"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/doctor"
	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/chunk"
)

// chunkChild is the verb of a parser child.
const chunkChild = "chunk-child"

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: find this program:", err)
		return tool.ExitError
	}
	dir, err := workingDirectory()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error: find the working directory:", err)
		return tool.ExitError
	}
	build := buildInfo()
	children := []string{self, chunkChild}
	shared, chosen := settings(), chosenServices(os.Getenv)
	return cli.Program{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: isatty.IsTerminal(os.Stderr.Fd()),
		Dir:      dir, Home: cli.DefaultHome(os.Getenv), Build: build, LogSetting: os.Getenv("FRESHET_LOG"), Environment: os.Environ(),
		ServeChild: chunk.ServeChild,
		Connect: func(ctx context.Context, home string, log *slog.Logger) (cli.Session, error) {
			return host.Connect(ctx, host.Options{
				Home: home, Version: build.Version, ChunkCommand: children, Cluster: shared, Provider: chosen.embed, Reranking: chosen.rerank, Log: log,
			})
		},
		Agents:  agents{children: children, cluster: shared, services: chosen},
		Workers: workers{cluster: shared, children: children, services: chosen}, Parent: os.Getppid, Token: os.Getenv("FRESHET_TOKEN"), AllowRoots: filepath.SplitList(os.Getenv("FRESHET_ALLOW_ROOT")),
		HomeToken: func(home string) (token, file string, err error) {
			token, err = datadir.Token(home)
			return token, datadir.TokenPath(home), err
		},
		Doctor: func(ctx context.Context, home, dir string) []tool.Finding {
			return append(doctor.Diagnose(ctx, doctor.Options{
				Home: home, Version: build.Version, ChunkCommand: children, Cluster: shared, Provider: chosen.embed,
			}, dir), chosen.examine()...)
		},
		Evaluate:   evaluator{children: children}.run,
		Executable: self, UserHome: os.Getenv("HOME"),
	}.Run(ctx, os.Args[1:])
}

func workingDirectory() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

func buildInfo() tool.Build {
	build := tool.Build{Version: "(devel)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	if info.Main.Version != "" {
		build.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			build.Revision = setting.Value
		}
	}
	return build
}

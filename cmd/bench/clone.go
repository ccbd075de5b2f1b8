package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsserver"
)

// measureClone times how long a new clone on another host takes until its first answer,
// against the first index of the same tree: both from the registration to the answer of a
// strict search.
func measureClone(ctx context.Context, s settings) (err error) {
	work, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	shared, stop, err := openCluster(work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	files, bytes, err := treeSize(s.repo)
	if err != nil {
		return err
	}
	s.printf("%s: %d files, %.1f MB; load %s\n", filepath.Base(s.repo), files, float64(bytes)/1e6, load())
	var took [2]time.Duration
	for i := range took {
		if took[i], err = s.firstAnswer(ctx, shared, work, fmt.Sprintf("host%d", i+1)); err != nil {
			return err
		}
	}
	s.printf("first answer: first index %.2f s, clone on another host %.2f s, ratio %.1f\n",
		took[0].Seconds(), took[1].Seconds(), took[0].Seconds()/took[1].Seconds())
	return nil
}

// openCluster names a log and a store that are shared, under a tenant of its own. The
// database is that of FRESHET_DATABASE_URL or FRESHET_TEST_DATABASE_URL; without
// FRESHET_NATS_URL it runs a server in dir, which syncs every write, until stop is called.
func openCluster(dir string) (shared cluster.Settings, stop func() error, err error) {
	shared = cluster.FromEnvironment(os.Getenv, "bench")
	if shared.Database == "" {
		shared.Database = os.Getenv("FRESHET_TEST_DATABASE_URL")
	}
	shared.Tenant = fmt.Sprintf("bench%d", time.Now().UnixNano())
	if shared.NATS != "" {
		return shared, func() error { return nil }, nil
	}
	server, err := natsserver.Start(natsserver.Options{Name: "bench", Dir: filepath.Join(dir, "nats")})
	if err != nil {
		return shared, nil, err
	}
	shared.NATS = server.URL()
	return shared, server.Close, nil
}

// firstAnswer copies the tree to a place, and times its way into the index of a new host.
func (s settings) firstAnswer(ctx context.Context, shared cluster.Settings, work, place string) (took time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	clone := filepath.Join(work, place, "tree")
	if err := os.MkdirAll(filepath.Dir(clone), 0o755); err != nil {
		return 0, err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", s.repo, clone).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("copy the tree: %w: %s", err, out)
	}
	shared.Place = place
	session, err := host.Connect(ctx, host.Options{
		Home: filepath.Join(work, place, "home"), Version: "bench", ChunkCommand: []string{self, childVerb}, Cluster: shared,
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	call := func(verb string, params map[string]any) (*tool.Envelope, error) {
		envelope, err := session.Call(ctx, verb, params, nil)
		if err == nil && envelope.Error != nil {
			err = envelope.Error
		}
		return envelope, err
	}
	started := time.Now()
	if _, err := call("index", map[string]any{"path": clone, "wait": true}); err != nil {
		return 0, fmt.Errorf("index on %s: %w", place, err)
	}
	indexed := time.Since(started)
	answer, err := call("search", map[string]any{"query": queries[0], "codebase": clone, "freshness": "strict"})
	if err != nil {
		return 0, fmt.Errorf("search on %s: %w", place, err)
	}
	took = time.Since(started)
	s.printf("%s: indexed in %.2f s, %d hits after %.2f s, %s\n", place, indexed.Seconds(), len(answer.Results), took.Seconds(), answer.Freshness.State)
	return took, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/mcp/tool"
)

// live is a host in this process over a copy of nothing: it indexes the tree as it is.
type live struct {
	session *host.Session
	home    string
	repo    string
}

func openLive(ctx context.Context, s settings) (*live, error) {
	home, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	session, err := host.Connect(ctx, host.Options{Home: home, Version: "bench", ChunkCommand: []string{self, childVerb}})
	if err != nil {
		return nil, err
	}
	l := &live{session: session, home: home, repo: s.repo}
	started := time.Now()
	if _, err := l.call(ctx, "index", map[string]any{"path": s.repo, "wait": true}); err != nil {
		return nil, err
	}
	s.printf("%s indexed in %.1f s; load %s\n", filepath.Base(s.repo), time.Since(started).Seconds(), load())
	return l, nil
}

func (l *live) close() error {
	err := l.session.Close()
	if rerr := os.RemoveAll(l.home); err == nil {
		err = rerr
	}
	return err
}

func (l *live) call(ctx context.Context, verb string, params map[string]any) (*tool.Envelope, error) {
	envelope, err := l.session.Call(ctx, verb, params, nil)
	if err != nil {
		return nil, err
	}
	if envelope.Error != nil {
		return nil, fmt.Errorf("%s: %w", verb, envelope.Error)
	}
	return envelope, nil
}

// measureEdit changes a file and searches for what it then holds: the time from the end of
// the write to the answer that has it, stat proof, events, store and query included.
func measureEdit(ctx context.Context, s settings) error {
	l, err := openLive(ctx, s)
	if err != nil {
		return err
	}
	path := filepath.Join(s.repo, "freshet_bench_edit.go")
	defer func() {
		_ = os.Remove(path)
		_ = l.close()
	}()
	var took []float64
	for round := range s.rounds {
		word := fmt.Sprintf("benchword%dx", time.Now().UnixNano())
		source := fmt.Sprintf("package bench\n\n// Round%d mentions %s.\nfunc Round%d() string { return %q }\n", round, word, round, word)
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			return err
		}
		started := time.Now()
		envelope, err := l.call(ctx, "search", map[string]any{"query": word, "codebase": s.repo, "mode": "text", "max_wait_ms": 10000})
		if err != nil {
			return err
		}
		elapsed := time.Since(started)
		data, err := json.Marshal(envelope.Results)
		if err != nil {
			return err
		}
		if !strings.Contains(string(data), "freshet_bench_edit.go") {
			return fmt.Errorf("round %d: the edit is not in the answer, which is %s", round, envelope.Freshness.State)
		}
		took = append(took, float64(elapsed.Microseconds())/1000)
	}
	s.printf("edit to searchable, %d rounds: p50 %.1f ms, p95 %.1f ms\n", s.rounds, median(took), quantile(took, 0.95))
	return nil
}

// queries are questions of the kinds that people and agents ask.
var queries = []string{
	"how are log entries batched before they are pushed", "where is the configuration file parsed",
	"retry with exponential backoff", "NewServer", "parse duration flag", "handle container exit code",
	"compress response body", "http middleware that logs requests", "mutex guarding the cache",
	"delete unused images", "tls certificate reload", "func Close", "rate limit per tenant",
	"walk a directory tree", "decode json request", "graceful shutdown on signal",
}

// measureQuery times hybrid searches without their freshness check.
func measureQuery(ctx context.Context, s settings) error {
	l, err := openLive(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }()
	for _, mode := range []string{"hybrid", "text", "symbol"} {
		var took []float64
		for round := range s.rounds + len(queries) {
			started := time.Now()
			_, err := l.call(ctx, "search", map[string]any{
				"query": queries[round%len(queries)], "codebase": s.repo, "mode": mode, "freshness": "eventual",
			})
			if err != nil {
				return err
			}
			if round >= len(queries) { // each query once to warm up
				took = append(took, float64(time.Since(started).Microseconds())/1000)
			}
		}
		s.printf("%-8s queries: p50 %.2f ms, p95 %.2f ms\n", mode, median(took), quantile(took, 0.95))
	}
	return nil
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/mcptest"
	"github.com/freshet/freshet/mcp/tool"
)

// fleet is a host that serves HTTP, and what a measurement starts beside it.
type fleet struct {
	settings
	work string
	url  string
	host *exec.Cmd
}

// openFleet builds freshet unless one was named, and starts `freshet up` on an index of the
// tree.
func openFleet(ctx context.Context, s settings) (*fleet, error) {
	work, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return nil, err
	}
	f := &fleet{settings: s, work: work}
	if f.program, err = s.built(ctx, work); err != nil {
		return nil, err
	}
	f.host = f.command(ctx, "up", "--listen", "127.0.0.1:0")
	f.host.Cancel = func() error { return f.host.Process.Signal(syscall.SIGTERM) }
	out, err := f.host.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.host.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, f.host.Wait())
	}
	f.url = strings.TrimSpace(strings.TrimPrefix(line, "serving agents at "))
	return f, nil
}

// built is the freshet to measure, built into a directory if none was named.
func (s settings) built(ctx context.Context, dir string) (string, error) {
	if s.program != "" {
		return s.program, nil
	}
	program := filepath.Join(dir, "freshet")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/freshet/freshet/cmd/freshet")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build freshet: %w", err)
	}
	return program, nil
}

func (f *fleet) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, f.program, args...)
	cmd.Dir = f.repo
	cmd.Env = append(os.Environ(), "FRESHET_HOME="+filepath.Join(f.work, "home"))
	return cmd
}

func (f *fleet) close() error {
	err := f.host.Process.Signal(syscall.SIGTERM)
	return errors.Join(err, f.host.Wait(), os.RemoveAll(f.work))
}

// measureMCP measures the tools as agents call them: the latency of a search with its
// check of the tree, over both transports, with nothing and with ten files changed since
// the last call; the size of the list of tools and of answers; the memory of attached
// servers.
func measureMCP(ctx context.Context, s settings) error {
	f, err := openFleet(ctx, s)
	if err != nil {
		return err
	}
	err = f.measure(ctx)
	return errors.Join(err, f.close())
}

func (f *fleet) measure(ctx context.Context) error {
	token, err := datadir.Token(filepath.Join(f.work, "home"))
	if err != nil {
		return err
	}
	http, err := mcptest.HTTP(ctx, f.url, token)
	if err != nil {
		return err
	}
	stdio, err := mcptest.Command(ctx, f.command(ctx, "mcp"))
	if err != nil {
		return errors.Join(err, http.Close())
	}
	defer func() { _ = errors.Join(http.Close(), stdio.Close()) }()
	started := time.Now()
	if err := http.Index(ctx, f.repo); err != nil {
		return err
	}
	f.printf("%s indexed in %.1f s; load %s\n", filepath.Base(f.repo), time.Since(started).Seconds(), load())
	for _, transport := range []struct {
		name   string
		client *mcptest.Client
	}{{"stdio", stdio}, {"http", http}} {
		if err := f.latency(ctx, transport.name, transport.client); err != nil {
			return err
		}
	}
	_, listed, err := stdio.Tools(ctx)
	if err != nil {
		return err
	}
	f.printf("tools/list: %d characters\n", len([]rune(string(listed))))
	if err := f.answers(ctx, http); err != nil {
		return err
	}
	return f.memory(ctx)
}

// changing is how many files change between two calls.
const changing = 10

// latency times searches over one transport.
func (f *fleet) latency(ctx context.Context, name string, client *mcptest.Client) error {
	search := func(round int) (float64, error) {
		started := time.Now()
		envelope, err := client.Ask(ctx, tool.ToolSearch, map[string]any{
			"codebase": f.repo, "query": queries[round%len(queries)], "max_wait_ms": 10000,
		})
		took := float64(time.Since(started).Microseconds()) / 1000
		if err == nil && envelope.Status != tool.StatusOK {
			err = fmt.Errorf("an answer that is %s, %s", envelope.Status, envelope.Freshness.State)
		}
		return took, err
	}
	var paths []string
	for i := range changing {
		paths = append(paths, filepath.Join(f.repo, fmt.Sprintf("freshet_bench_%d.go", i)))
	}
	defer func() {
		for _, path := range paths {
			_ = os.Remove(path)
		}
	}()
	for _, changed := range []int{0, changing} {
		var took []float64
		for round := range f.rounds + len(queries) {
			for i, path := range paths[:changed] {
				text := fmt.Sprintf("package bench\n\n// Changed%d was changed in round %d.\nfunc Changed%d() int { return %d }\n", i, round, i, time.Now().UnixNano())
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					return err
				}
			}
			ms, err := search(round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", name, round, err)
			}
			if round >= len(queries) { // each query once to warm up
				took = append(took, ms)
			}
		}
		f.printf("%-5s search, %2d files changed: p50 %6.1f ms, p95 %6.1f ms (%d calls)\n", name, changed, median(took), quantile(took, 0.95), len(took))
	}
	return nil
}

// answers measures how long answers are at each verbosity, and how many times shorter a
// summary is than the standard answer to the same query.
func (f *fleet) answers(ctx context.Context, client *mcptest.Client) error {
	tokens := map[string][]float64{}
	for _, verbosity := range []string{"summary", "standard", "full"} {
		for _, query := range queries {
			answer, err := client.Call(ctx, tool.ToolSearch, map[string]any{"codebase": f.repo, "query": query, "verbosity": verbosity})
			if err != nil {
				return err
			}
			if answer.IsError {
				return fmt.Errorf("search for %q: %s", query, answer.Text)
			}
			tokens[verbosity] = append(tokens[verbosity], math.Ceil(float64(len(answer.Text))/4))
		}
	}
	var ratios []float64
	for i := range queries {
		ratios = append(ratios, tokens["summary"][i]/tokens["standard"][i])
	}
	for _, verbosity := range []string{"summary", "standard", "full"} {
		f.printf("%-8s answers: %.0f tokens in the median, %.0f at most\n", verbosity, median(tokens[verbosity]), quantile(tokens[verbosity], 1))
	}
	f.printf("summary/standard: %.2f in the median\n", median(ratios))
	return nil
}

// attached is how many servers on standard input and output are measured.
const attached = 20

// memory measures servers that are attached to the host, each after a search.
func (f *fleet) memory(ctx context.Context) error {
	var clients []*mcptest.Client
	defer func() {
		for _, client := range clients {
			_ = client.Close()
		}
	}()
	var processes []*exec.Cmd
	for range attached {
		cmd := f.command(ctx, "mcp")
		client, err := mcptest.Command(ctx, cmd)
		if err != nil {
			return err
		}
		clients, processes = append(clients, client), append(processes, cmd)
		if _, err := client.Ask(ctx, tool.ToolSearch, map[string]any{"codebase": f.repo, "query": "graceful shutdown"}); err != nil {
			return err
		}
	}
	for _, field := range []string{"Rss", "Pss", "Anonymous"} {
		var sizes []float64
		for _, cmd := range processes {
			kib, err := smaps(cmd.Process.Pid, field)
			if err != nil {
				return err
			}
			sizes = append(sizes, kib/1024)
		}
		f.printf("%d attached servers, %-9s: %.1f MiB in the median, %.1f at most\n", attached, field, median(sizes), quantile(sizes, 1))
	}
	return nil
}

// smaps reads a figure of a process's memory, in KiB.
func smaps(pid int, field string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			return strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		}
	}
	return 0, fmt.Errorf("no %s in the memory of process %d", field, pid)
}

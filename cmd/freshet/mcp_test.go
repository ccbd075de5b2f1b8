package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freshet/freshet/mcp/mcptest"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

var rounds = flag.Int("mcp.rounds", 40, "rounds of write-then-search over each transport")

// stdio starts `freshet mcp` and returns a client of it.
func (p program) stdio(args ...string) *mcptest.Client {
	p.t.Helper()
	client, err := mcptest.Command(p.t.Context(), p.command(append([]string{"mcp"}, args...)...))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = client.Close() })
	return client
}

// up starts `freshet up` on a free port and returns its endpoint and its process.
func (p program) up(env []string, args ...string) (url string, process *os.Process) {
	p.t.Helper()
	cmd := p.command(append([]string{"up", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		p.t.Fatalf("up: %v: %s", err, stderr.String())
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "serving agents at ")), cmd.Process
}

// overHTTP returns a client of an endpoint, with the token of the data directory unless
// another is given.
func (p program) overHTTP(url, token string) *mcptest.Client {
	p.t.Helper()
	if token == "" { // that of the data directory
		data, err := os.ReadFile(filepath.Join(p.home, "token"))
		if err != nil {
			p.t.Fatal(err)
		}
		token = strings.TrimSpace(string(data))
	}
	client, err := mcptest.HTTP(p.t.Context(), url, token)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = client.Close() })
	return client
}

// tree makes a small working tree and returns a program over a data directory of its own.
func tree(t *testing.T) program {
	t.Helper()
	p := program{t: t, home: t.TempDir(), dir: t.TempDir()}
	for i := range 5 {
		write(t, filepath.Join(p.dir, fmt.Sprintf("file%d.go", i)), fmt.Sprintf("package a\n\n// F%d counts.\nfunc F%d() int { return %d }\n", i, i, i))
	}
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoStaleAnswer is the promise that freshness is proven: after each write, a search
// finds it, or says that the answer is behind.
func TestNoStaleAnswer(t *testing.T) {
	t.Parallel()
	transports := []struct {
		name    string
		connect func(p program) *mcptest.Client
	}{
		{"stdio", func(p program) *mcptest.Client { return p.stdio() }},
		{"http", func(p program) *mcptest.Client {
			url, _ := p.up(nil)
			return p.overHTTP(url, "")
		}},
	}
	for _, transport := range transports {
		t.Run(transport.name, func(t *testing.T) {
			t.Parallel()
			p := tree(t)
			client := transport.connect(p)
			if err := client.Index(t.Context(), p.dir); err != nil {
				t.Fatal(err)
			}
			labelled := 0
			for round := range *rounds {
				if !searchAfterWrite(t, p, client, round) {
					labelled++
				}
			}
			if labelled > *rounds/10 {
				t.Errorf("%d of %d answers were behind", labelled, *rounds)
			}
		})
	}
}

// searchAfterWrite writes a word and searches for it and for the one that it replaced. It
// returns false when the answer is labelled as behind.
func searchAfterWrite(t *testing.T, p program, client *mcptest.Client, round int) bool {
	t.Helper()
	word := func(n int) string { return fmt.Sprintf("roundword%dx", n) }
	write(t, filepath.Join(p.dir, "file1.go"), fmt.Sprintf("package a\n\n// Round mentions %s.\nfunc Round() {}\n", word(round)))
	for _, wanted := range []int{round, round - 1} {
		envelope, err := client.Ask(t.Context(), tool.ToolSearch, map[string]any{
			"codebase": p.dir, "query": word(wanted), "mode": "text", "max_wait_ms": 300000,
		})
		if err != nil {
			t.Fatal(err)
		}
		switch state := envelope.Freshness.State; state {
		case search.Current, search.CaughtUp:
		case search.Behind:
			return false
		default:
			t.Fatalf("round %d: an answer that is %s: %s", round, state, envelope.Freshness.Reason)
		}
		found := slices.ContainsFunc(envelope.Results, func(h tool.Hit) bool { return strings.Contains(h.Content, word(wanted)) })
		if found != (wanted == round) {
			t.Fatalf("round %d: %s is found: %v, in an answer that is %s", round, word(wanted), found, envelope.Freshness.State)
		}
		if round%10 != 0 {
			break // looking for the replaced word now and then is enough
		}
	}
	return true
}

// TestTwentyProcesses runs twenty servers over one data directory: they answer as one.
func TestTwentyProcesses(t *testing.T) {
	t.Parallel()
	p := tree(t)
	const servers = 20
	clients := make([]*mcptest.Client, servers)
	for i := range clients {
		clients[i] = p.stdio()
	}
	if err := clients[7].Index(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.dir, "new.go"), "package a\n\n// Twentyfold is new.\nfunc Twentyfold() {}\n")
	answers := make(chan string, servers)
	for _, client := range clients {
		go func() {
			envelope, err := client.Ask(context.WithoutCancel(t.Context()), tool.ToolSearch, map[string]any{"query": "Twentyfold", "mode": "text", "max_wait_ms": 300000})
			switch {
			case err != nil:
				answers <- err.Error()
			case len(envelope.Results) != 1:
				answers <- fmt.Sprintf("%d results, %s", len(envelope.Results), envelope.Freshness.State)
			default:
				answers <- fmt.Sprint("snapshot ", envelope.Freshness.Snapshot)
			}
		}()
	}
	seen := map[string]int{}
	for range servers {
		seen[<-answers]++
	}
	if len(seen) != 1 || seen["snapshot 2"] != servers {
		t.Errorf("the servers answered %v", seen)
	}
}

// TestHostIsKilled kills the host while five servers are attached: their calls go on.
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	p := tree(t)
	url, host := p.up(nil)
	if err := p.overHTTP(url, "").Index(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	const servers = 5
	failures := make(chan error, servers)
	halfway := make(chan struct{}, servers)
	for range servers {
		client := p.stdio()
		go func() {
			for call := range 40 {
				if call == 20 {
					halfway <- struct{}{}
				}
				envelope, err := client.Ask(context.WithoutCancel(t.Context()), tool.ToolSearch, map[string]any{"query": "counts", "mode": "text", "max_wait_ms": 300000})
				if err == nil && len(envelope.Results) != 5 {
					err = fmt.Errorf("%d results", len(envelope.Results))
				}
				if err != nil {
					failures <- fmt.Errorf("call %d: %w", call, err)
					return
				}
			}
			failures <- nil
		}()
	}
	<-halfway
	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	for range servers {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}

// TestParentDies starts a server from a shell that is killed while another process holds
// the pipes: the server ends, and so do its children.
func TestParentDies(t *testing.T) {
	t.Parallel()
	p := tree(t)
	server := p.command("mcp")
	reader, holder, err := os.Pipe() // the test holds the writing end open
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", `exec 3<&0; "$0" mcp <&3 2>/dev/null & echo $!; wait`, server.Path)
	shell.Dir, shell.Env, shell.Stdin = p.dir, server.Env, reader
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var pid int
	if _, err := fmt.Fscanln(lines, &pid); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the server is the host", func() bool {
		_, err := os.Stat(filepath.Join(p.home, "host.sock"))
		return err == nil
	})
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = shell.Wait()
	waitUntil(t, "the server is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}

// waitUntil polls until something holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-deadline.C:
			t.Fatal("not so in time: " + what)
		}
	}
}

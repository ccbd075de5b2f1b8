package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

// TestSuspendedHost stops the host of a data directory in its tracks: every other process
// says which one is suspended and what lets it go on, instead of waiting, and the advice
// works.
func TestSuspendedHost(t *testing.T) {
	t.Parallel()
	p := tree(t)
	_, host := p.up(nil)
	if text, err := p.command("index").CombinedOutput(); err != nil {
		t.Fatalf("index: %v: %s", err, text)
	}
	agent := p.stdio()
	if err := host.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Signal(syscall.SIGCONT) }()
	goOn := fmt.Sprintf("kill -CONT %d", host.Pid)
	said := make(chan string)
	verbs := [][]string{{"status"}, {"search", "F1"}, {"sync"}, {"read", "file1.go"}, {"export", "--canonical"}, {"doctor"}, {"events", "--follow"}}
	for _, args := range verbs {
		cmd := p.command(args...)
		go func() {
			text, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(text), goOn) || !strings.Contains(string(text), fmt.Sprint("process ", host.Pid)) {
				said <- fmt.Sprintf("freshet %s: %v: %s", strings.Join(args, " "), err, text)
				return
			}
			said <- ""
		}()
	}
	_, err := agent.Ask(t.Context(), tool.ToolSearch, map[string]any{"query": "F1", "codebase": p.dir})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("process ", host.Pid)) {
		t.Errorf("an agent is told %v", err)
	}
	for range verbs {
		if text := <-said; text != "" {
			t.Error(text)
		}
	}
	if text, err := exec.Command("sh", "-c", goOn).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", goOn, err, text)
	}
	if text, err := p.command("search", "F1").CombinedOutput(); err != nil || !strings.Contains(string(text), "file1.go") {
		t.Errorf("afterwards: %v: %s", err, text)
	}
}

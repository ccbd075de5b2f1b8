package worker_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/cmd/worker"
	mcpserver "github.com/freshet/freshet/mcp"
)

// agents serves agents from a host, and returns the address of its metrics.
func (s *site) agents(on *host.Session) string {
	s.t.Helper()
	server, err := mcpserver.New(on, mcpserver.Options{Metrics: on})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- server.ServeHTTP(ctx, mcpserver.HTTPOptions{Address: "127.0.0.1:0"}, func(url, _ string) { ready <- url })
	}()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	return strings.TrimSuffix(<-ready, "/mcp") + "/metrics"
}

// awaitLine fetches a page until a line of it matches.
func (s *site) awaitLine(url, pattern string) {
	s.t.Helper()
	want := regexp.MustCompile("(?m)^" + pattern + "$")
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	for {
		page := s.get(url)
		if want.MatchString(page) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			s.t.Fatalf("want %s on the page\n%s", pattern, page)
		}
	}
}

// TestMetrics: a host and a worker tell what was done and what waits; every name that they
// serve is in the table of docs/operations.md, and every name of the table is served.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	health, stop := s.worker(worker.Options{Health: "127.0.0.1:0"})
	root := s.tree(30)
	s.advise("$JS.EVENT.ADVISORY.STREAM.QUORUM_LOST.freshet-default")
	s.awaitLine(health+"/metrics", `freshet_advisories\{kind="quorum_lost"\} 1`)
	on := s.host("one") // hears of what comes after
	figures := s.agents(on)
	s.call(on, "index", map[string]any{"path": root, "wait": true})
	s.call(on, "search", map[string]any{"query": "F3", "mode": "text", "codebase": root})
	for _, line := range []string{
		`freshet_stage_events_total\{stage="chunk"\} [1-9]\d*`, `freshet_stage_files_total\{result="made",stage="embed"\} 30`,
		`freshet_stage_units_total\{stage="chunk"\} [1-9]\d*`, `freshet_provider_calls_total\{outcome="ok"\} [1-9]\d*`,
		`freshet_seals_total\{level="full"\} [1-9]\d*`, `freshet_seal_seconds_count\{level="full"\} [1-9]\d*`,
		`freshet_lag_events\{codebase="c[a-z2-7]+",name="\d+"\} 0`, `freshet_lag_seconds\{.*\} 0`, `freshet_parked_files\{.*\} 0`,
		`freshet_dead_letters 0`, `freshet_log_up 1`, `freshet_store_up 1`, `freshet_consumer_pending\{consumer="chunk-[0-9a-f]+"\} 0`,
	} {
		s.awaitLine(health+"/metrics", line)
	}
	s.awaitLine(figures, `freshet_check_seconds_count\{state="(current|caught_up)"\} [1-9]\d*`)
	s.awaitLine(figures, `freshet_host 1`)

	names := regexp.MustCompile(`(?m)^# TYPE (freshet_\S+)`)
	served := map[string]bool{}
	for _, url := range []string{health + "/metrics", figures} {
		for _, m := range names.FindAllStringSubmatch(s.get(url), -1) {
			served[m[1]] = true
		}
	}
	doc, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(freshet_\\w+)").FindAllStringSubmatch(string(doc), -1) {
		documented[m[1]] = true
	}
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("served and documented differ (-documented +served):\n%s", diff)
	}

	for _, url := range []string{health + "/metrics", figures} {
		for _, line := range []string{`process_open_fds [1-9]\d*`, `go_goroutines [1-9]\d*`, `go_build_info\{.*\} 1`} {
			s.awaitLine(url, line)
		}
	}
	s.sameGauges(string(doc), health+"/metrics", figures)

	stop() // what is found from here on waits
	s.write(root, "p0/new.go", "package p\n\nfunc New() {}\n")
	s.call(on, "search", map[string]any{"query": "New", "mode": "text", "codebase": root, "max_wait_ms": 1})
	s.awaitLine(figures, `freshet_lag_events\{.*\} [1-9]\d*`)
	s.awaitLine(figures, `freshet_lag_seconds\{.*\} (0\.\d*[1-9]\d*|[1-9].*)`)
	s.nats.Stop(0)
	s.awaitLine(figures, `freshet_log_up 0`)
	if page := s.get(figures); strings.Contains(page, "freshet_lag_events{") || !slices.Contains(strings.Split(page, "\n"), "freshet_store_up 1") {
		t.Errorf("without the log:\n%s", page)
	}
}

// advise publishes an advisory as the cluster would.
func (s *site) advise(subject string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.nats.URL(), "nats://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nPUB %s 2\r\n{}\r\nPING\r\n", subject); err != nil {
		s.t.Fatal(err)
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if lines.Text() == "PONG" {
			return
		}
	}
	s.t.Fatal("the server takes no message")
}

// sameGauges compares the gauges of two processes at rest, but for those that the document
// says are of one process, and for times, until they are the same.
func (s *site) sameGauges(doc, one, other string) {
	s.t.Helper()
	_, own, _ := strings.Cut(doc, "Of the gauges these are, too:")
	own, _, _ = strings.Cut(own, "The other gauges")
	gauges := func(page string) (lines []string) {
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (freshet_\S+) gauge$`).FindAllStringSubmatch(page, -1) {
			if strings.Contains(own, "`"+m[1]+"`") || m[1] == "freshet_snapshot_age_seconds" {
				continue
			}
			lines = append(lines, regexp.MustCompile(`(?m)^`+m[1]+`(\{.*\})? .*$`).FindAllString(page, -1)...)
		}
		slices.Sort(lines)
		return lines
	}
	var diff string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		first, second := gauges(s.get(one)), gauges(s.get(other))
		if diff = cmp.Diff(first, second); diff == "" && len(first) > 0 {
			return
		}
	}
	s.t.Errorf("gauges that docs/operations.md calls the same differ (-one +other):\n%s", diff)
}

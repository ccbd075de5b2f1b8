package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// fleet is a cluster of real processes: PostgreSQL, three NATS servers, a synchronizer that
// sees a tree, and three workers that embed with a stub.
type fleet struct {
	t        *testing.T
	dir      string
	tree     string
	postgres *pgtest.Private
	nats     []*process
	workers  []*process
	host     *process // the synchronizer
	stub     *stub
	env      []string // of whoever joins, but for place and data directory
}

// links tell what stands in front of a server of a fleet, by the server's address.
type links struct {
	nats, database func(server string) (address string)
}

// direct leads to the servers themselves.
func direct() links {
	same := func(server string) string { return server }
	return links{nats: same, database: same}
}

func newFleet(t *testing.T, l links) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), stub: newStub(t), postgres: pgtest.StartPrivate(t)}
	f.tree = filepath.Join(f.dir, "tree")
	if err := os.Mkdir(f.tree, 0o755); err != nil {
		t.Fatal(err)
	}
	urls := f.natsServers(l)
	f.env = []string{
		"FRESHET_NATS_URL=" + strings.Join(urls, ","),
		"FRESHET_DATABASE_URL=" + strings.Replace(f.postgres.URL(), f.postgres.Address(), l.database(f.postgres.Address()), 1),
		"FRESHET_DATABASE_ROLE=freshet_fleet", // which owns nothing
	}
	for i := range 3 {
		f.workers = append(f.workers, f.worker(fmt.Sprintf("worker%d", i+1)))
	}
	f.host = newProcess(t, f.dir, "synchronizer", f.seeing().environment(), "up", "--idle", "--listen", "127.0.0.1:0")
	startAll(t, asStarters(f.nats)...)
	startAll(t, asStarters(f.clients())...)
	servedAtOnce(t, "at the beginning", f.clients()...)
	return f
}

// clients are the processes that need PostgreSQL and NATS.
func (f *fleet) clients() []*process { return append([]*process{f.host}, f.workers...) }

func (f *fleet) natsServers(l links) (urls []string) {
	ports := clustertest.FreePorts(f.t, 6)
	var routes []string
	for i := range 3 {
		routes = append(routes, "--route", fmt.Sprintf("127.0.0.1:%d", ports[3+i]))
	}
	for i := range 3 {
		name := fmt.Sprintf("nats%d", i+1)
		address := l.nats(fmt.Sprintf("127.0.0.1:%d", ports[i]))
		args := append([]string{
			"nats", "--advertise", address, "--name", name, "--dir", filepath.Join(f.dir, name), "--port", fmt.Sprint(ports[i]),
			"--cluster", "fleet", "--cluster-port", fmt.Sprint(ports[3+i]),
		}, routes...)
		f.nats = append(f.nats, newProcess(f.t, f.dir, name, []string{asFreshet + "=1"}, args...))
		urls = append(urls, "nats://"+address)
	}
	return urls
}

// worker makes a worker with every role.
func (f *fleet) worker(name string, env ...string) *process {
	env = append([]string{asWorker + "=" + f.stub.server.URL, "FRESHET_PLACE=" + name}, env...)
	return newProcess(f.t, f.dir, name, append(env, f.env...))
}

func asStarters(all []*process) (starters []starter) {
	for _, p := range all {
		starters = append(starters, p)
	}
	return starters
}

// seeing is freshet on the host of the tree, with the data directory of the synchronizer.
func (f *fleet) seeing() member { return member{f, "one", filepath.Join(f.dir, "one")} }

// blind is freshet on a host that does not see the tree.
func (f *fleet) blind() member { return member{f, "two", filepath.Join(f.dir, "two")} }

// member is freshet in a fleet, a process for each call.
type member struct {
	fleet       *fleet
	place, home string
}

func (m member) environment() []string {
	return append([]string{asFreshet + "=1", "FRESHET_HOME=" + m.home, "FRESHET_PLACE=" + m.place}, m.fleet.env...)
}

// try calls a verb and returns its envelope, whatever it says.
func (m member) try(args ...string) *tool.Envelope {
	m.fleet.t.Helper()
	envelope, err := m.call(args...)
	if err != nil {
		m.fleet.t.Fatal(err)
	}
	return envelope
}

// call is try for other goroutines than that of the test.
func (m member) call(args ...string) (*tool.Envelope, error) {
	out, err := m.print(append(args, "--json")...)
	if err != nil {
		return nil, err
	}
	var envelope tool.Envelope
	if err := json.Unmarshal([]byte(out), &envelope); err != nil {
		return nil, fmt.Errorf("freshet %s: %w in %q", strings.Join(args, " "), err, out)
	}
	return &envelope, nil
}

// must calls a verb that has to succeed.
func (m member) must(args ...string) *tool.Envelope {
	m.fleet.t.Helper()
	envelope := m.try(args...)
	if envelope.Error != nil {
		m.fleet.t.Fatalf("freshet %s: %v", strings.Join(args, " "), envelope.Error)
	}
	return envelope
}

// callWait bounds a call, however the fleet is.
const callWait = 5 * time.Minute

// print calls a verb and returns what it prints, whatever it says.
func (m member) print(args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(m.fleet.t.Context(), callWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir, cmd.Env = m.fleet.tree, append(os.Environ(), m.environment()...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && (len(out) == 0 || ctx.Err() != nil) {
		return "", fmt.Errorf("freshet %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// settle waits until the tree is indexed and fails the test unless the index is that of a
// clean build, with nothing parked and no message that nobody could take. what tells where
// the test is.
func (f *fleet) settle(what string) {
	f.t.Helper()
	f.seeing().must("index")
	exported, err := f.seeing().print("export", "--canonical")
	if err != nil {
		f.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(exported), "\n")
	clean := program{t: f.t, home: filepath.Join(f.t.TempDir(), "clean"), dir: f.tree}
	clean.run(nil, "index")
	if got, want := lines[len(lines)-1], exportDigest(clean); got != want {
		verified := f.seeing().try("verify")
		f.t.Errorf("%s: %s, a clean build has %s: %v %+v", what, got, want, verified.Error, verified.Verification)
	}
	status := f.seeing().must("status")
	for _, c := range *status.Codebases {
		if len(c.Parked) > 0 || c.Freshness.Parked > 0 {
			f.t.Errorf("%s: parked or failing: %+v", what, c.Parked)
		}
	}
	if letters := *f.seeing().must("dead-letters", "list").DeadLetters; len(letters) > 0 {
		f.t.Errorf("%s: dead letters: %+v", what, letters)
	}
}

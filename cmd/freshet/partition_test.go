package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/store/search"
)

// fault is what befalls the servers of one kind, until it is mended. during is what goes on
// meanwhile; it is called again and again until the reads are through.
type fault struct {
	name          string
	begin, mended func()
}

// partitioned is a fleet whose servers are behind relays.
type partitioned struct {
	*fleet
	natsRelays, databaseRelays relays
	word                       int    // the number of the newest edit
	away                       bool   // PostgreSQL is out of reach, and answers have to say so
	health                     string // address of the host that reads
}

func newPartitioned(t *testing.T) *partitioned {
	p := &partitioned{}
	behind := func(all *relays) func(string) string {
		return func(server string) string {
			r := newRelay(t, server)
			*all = append(*all, r)
			return r.address()
		}
	}
	p.fleet = newFleet(t, links{nats: behind(&p.natsRelays), database: behind(&p.databaseRelays)})
	return p
}

// faults are those of the servers of one kind: stopped in their tracks, out of reach
// without a word, out of reach with one, and a network that comes and goes.
func (p *partitioned) faults(all relays, signal func(syscall.Signal)) []fault {
	var steady func()
	return []fault{
		{"stopped", func() { signal(syscall.SIGSTOP) }, func() { signal(syscall.SIGCONT) }},
		{"paused", func() { all.each((*relay).hold) }, func() { all.each((*relay).pass) }},
		{"refused", func() { all.each((*relay).refuse) }, func() { all.each((*relay).pass) }},
		{"flapping", func() { steady = flap(p.t, all) }, func() { steady() }},
	}
}

// flap cuts and holds connections by turns until the returned function is called.
func flap(t *testing.T, all relays) (steady func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // ends when steady is called
		defer close(done)
		ticker := time.NewTicker(150 * time.Millisecond)
		defer ticker.Stop()
		for turn := 0; ; turn++ {
			select {
			case <-stop:
				all.each((*relay).pass)
				return
			case <-t.Context().Done():
				return
			case <-ticker.C:
			}
			all.each([]func(*relay){(*relay).hold, (*relay).cut, (*relay).pass, (*relay).pass}[turn%4])
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// edit puts a new word into the tree in the place of the last one.
func (p *partitioned) edit() {
	p.t.Helper()
	p.word++
	text := fmt.Sprintf("package beasts\n\n// %s is the newest.\nfunc %s() {}\n", p.newest(), p.newest())
	if err := os.WriteFile(filepath.Join(p.tree, "beast.go"), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *partitioned) newest() string { return fmt.Sprintf("Wolverine%d", p.word) }

// search looks for a word from the host that does not see the tree.
func (p *partitioned) search(word, freshness, wait string) (*tool.Envelope, error) {
	return p.blind().call("search", word, "--mode", "text", "--codebase", "tree", "--freshness", freshness, "--max-wait", wait)
}

// mustFind looks until the newest word is found, by proof.
func (p *partitioned) mustFind(what string) {
	p.t.Helper()
	e, err := p.search(p.newest(), "strict", "5m")
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	if e.Error != nil || !p.found(e) {
		p.t.Fatalf("%s: %v %+v", what, e.Error, e.Freshness)
	}
}

// honest checks an answer to a search: what is called proven has the newest word, strict
// answers no other way, and an error says to try again.
func (p *partitioned) honest(what, mode string, e *tool.Envelope) {
	p.t.Helper()
	verdict := string(e.Freshness.State)
	if e.Error != nil {
		verdict = e.Error.Error()
	}
	p.t.Logf("%s, %s: %s, %d results in %d ms", what, mode, verdict, len(e.Results), e.LatencyMs)
	switch {
	case e.Error != nil && !e.Error.Retryable:
		p.t.Errorf("%s, %s: an error that is not to be tried again: %v", what, mode, e.Error)
	case e.Error != nil:
	case p.away && !slices.ContainsFunc(e.Warnings, func(w search.Warning) bool { return w.Code == "store_away" }):
		p.t.Errorf("%s, %s: an answer without PostgreSQL that does not say so", what, mode)
	case mode == "eventual" && e.Freshness.State != "unchecked", mode == "strict" && !proven(e):
		p.t.Errorf("%s, %s: an answer that is %s", what, mode, e.Freshness.State)
	case proven(e) && !p.found(e):
		p.t.Errorf("%s, %s: called %s without the newest edit", what, mode, e.Freshness.State)
	}
}

func proven(e *tool.Envelope) bool {
	return e.Error == nil && (e.Freshness.State == "current" || e.Freshness.State == "caught_up")
}

// found reports whether the newest word is in an answer; an older one may be.
func (p *partitioned) found(e *tool.Envelope) bool {
	return slices.ContainsFunc(e.Results, func(h tool.Hit) bool { return strings.Contains(h.Content, p.newest()+"(") })
}

// read reads in every mode at once while a fault lasts. It reports whether a file that is
// there ever since was found.
func (p *partitioned) read(what string) (answers bool) {
	p.t.Helper()
	calls := []struct{ word, mode string }{
		{p.newest(), "verified"}, {p.newest(), "strict"}, {p.newest(), "eventual"}, {"Anchor", "eventual"},
	}
	envelopes, errs := make([]*tool.Envelope, len(calls)), make([]error, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		group.Go(func() { envelopes[i], errs[i] = p.search(c.word, c.mode, "300ms") })
	}
	group.Wait()
	for i, c := range calls {
		if errs[i] != nil {
			p.t.Errorf("%s, %s: %v", what, c.mode, errs[i])
			continue
		}
		p.honest(what, c.mode, envelopes[i])
		answers = len(envelopes[i].Results) > 0 // of the last
	}
	return answers
}

// unheard reads where the tree is seen while the log takes no events: the answer says that
// it is behind, and why.
func (p *partitioned) unheard(what string) {
	p.t.Helper()
	var e *tool.Envelope
	var err error
	for deadline := time.Now().Add(5 * time.Minute); ; { // a busy machine takes longer to look at the tree
		e, err = p.seeing().call("search", p.newest(), "--mode", "text", "--codebase", "tree", "--max-wait", "3s")
		if err != nil || e.Freshness.State != search.Unknown || time.Now().After(deadline) {
			break
		}
	}
	switch {
	case err != nil:
		p.t.Errorf("%s, where the tree is: %v", what, err)
	case e.Error != nil || e.Freshness.State != "behind" || e.Freshness.PendingCount == 0:
		p.t.Errorf("%s, where the tree is: %v %+v, want an answer that is behind", what, e.Error, e.Freshness)
	case !slices.ContainsFunc(e.Warnings, func(w search.Warning) bool { return w.Code == "log_away" }):
		p.t.Errorf("%s, where the tree is: nothing says that the log is away: %+v", what, e.Warnings)
	}
}

// mustBeReady asks the host that reads whether it is ready, until it says what it has to. A
// single answer may take three seconds.
func (p *partitioned) mustBeReady(what string, want bool) {
	p.t.Helper()
	client := http.Client{Timeout: time.Minute}
	status := http.StatusServiceUnavailable
	if want {
		status = http.StatusOK
	}
	var said string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); p.wait(200 * time.Millisecond) {
		response, err := client.Get("http://" + p.health + "/readyz")
		if err != nil {
			p.t.Errorf("%s: %v", what, err)
			return
		}
		_ = response.Body.Close()
		if said = response.Status; response.StatusCode == status {
			return
		}
	}
	p.t.Errorf("%s: the host that reads says %s, want %d", what, said, status)
}

// TestPartition takes NATS, then PostgreSQL, away from everybody in several ways. Searches
// on a host that does not see the tree go on as far as they can and claim nothing that is
// not proven; afterwards everything is found and the index is that of a clean build.
func TestPartition(t *testing.T) {
	t.Parallel()
	p := newPartitioned(t)
	if err := os.WriteFile(filepath.Join(p.tree, "anchor.go"), []byte("package beasts\n\n// Anchor stays.\nfunc Anchor() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.edit()
	p.settle("before")
	p.health = fmt.Sprintf("127.0.0.1:%d", clustertest.FreePorts(t, 1)[0])
	reader := newProcess(t, p.dir, "reader", p.blind().environment(), "up", "--idle", "--listen", p.health)
	startAll(t, reader)
	p.mustFind("before")
	p.mustBeReady("before", true)
	stopNATS := func(s syscall.Signal) {
		for _, n := range p.nats {
			n.signal(t, s)
		}
	}
	stopPostgres := func(s syscall.Signal) {
		if s == syscall.SIGSTOP {
			p.postgres.Stop()
		} else {
			p.postgres.Continue()
		}
	}
	p.nats[0].signal(t, syscall.SIGSTOP)
	p.edit()
	p.mustFind("without one of three NATS servers")
	p.nats[0].signal(t, syscall.SIGCONT)
	for _, service := range []struct {
		name   string
		faults []fault
	}{
		{"nats", p.faults(p.natsRelays, stopNATS)},
		{"postgres", p.faults(p.databaseRelays, stopPostgres)},
	} {
		for _, f := range service.faults {
			what := service.name + " " + f.name
			f.begin()
			p.edit()
			p.away = service.name == "postgres" && f.name != "flapping"
			answered := p.read(what)
			p.away = false
			if f.name != "flapping" {
				p.mustBeReady(what, false)
			}
			if service.name == "nats" && f.name != "flapping" {
				p.unheard(what)
			}
			f.mended()
			if !answered {
				t.Errorf("%s: the reader had what it needs and did not answer", what)
			}
			began := time.Now()
			p.mustFind(what + ", mended")
			p.mustBeReady(what+", mended", true)
			t.Logf("%s: converged in %s", what, time.Since(began).Round(time.Millisecond))
		}
		p.settle(service.name)
	}
	for _, s := range append(append([]*process{p.host, reader}, p.workers...), p.nats...) {
		if s.ended() {
			t.Errorf("%s ended by itself", s.name)
		}
	}
}

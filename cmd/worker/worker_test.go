package worker_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/cmd/worker"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
)

// asChild is the argument that has the test binary serve as a parser child.
const asChild = "chunk-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asChild {
		if err := chunk.ServeChild(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The NATS server leaves these behind when it is stopped in a cluster.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"))
}

// lent is a store that outlives those who close it, as one elsewhere does.
type lent struct {
	store.Store
	building func(store.CodebaseID) // is told of segments before they are stored, if set
}

func (lent) Close() error { return nil }

func (l lent) PutSegment(ctx context.Context, id store.CodebaseID, files, chunks int, data []byte) (store.SegmentID, error) {
	if l.building != nil {
		l.building(id)
	}
	return l.Store.PutSegment(ctx, id, files, chunks, data)
}

// counting is the built-in model, counting what it is asked for.
type counting struct {
	*builtin.Provider
	model string // "" leaves it the built-in one
	gate  func(texts []string)
	texts atomic.Int64
}

func (c *counting) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	if kind == embedding.Document {
		c.texts.Add(int64(len(texts)))
		if c.gate != nil {
			c.gate(texts)
		}
	}
	return c.Provider.Embed(ctx, kind, texts)
}

func (c *counting) Limits() embedding.Limits {
	l := c.Provider.Limits()
	l.Concurrency = 4
	return l
}

func (c *counting) Recipe() store.EmbeddingRecipe {
	r := c.Provider.Recipe()
	if c.model != "" {
		r.Model = c.model
	}
	return r
}

// site is a cluster with a store, for hosts and workers.
type site struct {
	t        *testing.T
	nats     *clustertest.Cluster
	store    *memstore.Store
	provider *counting
	building func(store.CodebaseID) // that of lent
}

func newSite(t *testing.T, servers int) *site {
	return &site{
		t: t, nats: clustertest.Start(t, servers), store: memstore.New(memstore.Options{}),
		provider: &counting{Provider: builtin.New()},
	}
}

func (s *site) settings(place string) cluster.Settings {
	return cluster.Settings{NATS: s.nats.URL(), Database: "lent", Place: place}
}

func (s *site) open(context.Context) (store.Store, error) { return lent{s.store, s.building}, nil }

func (s *site) self() []string {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	return []string{self, asChild}
}

// worker starts a worker that ends with the test, or when the returned function is called.
// It returns when the worker takes work, with the address of its health.
func (s *site) worker(o worker.Options) (health string, stop func()) {
	s.t.Helper()
	o.Cluster, o.OpenStore, o.ChunkCommand = s.settings("worker"), s.open, s.self()
	if o.Provider == nil {
		o.Provider = s.provider
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- worker.Run(ctx, o, func(url string) { ready <- url }) }()
	ended := false
	stop = func() {
		cancel()
		if !ended {
			ended = true
			if err := <-done; err != nil {
				s.t.Errorf("worker: %v", err)
			}
		}
	}
	s.t.Cleanup(stop)
	select {
	case health = <-ready:
	case err := <-done:
		ended = true
		s.t.Fatalf("worker: %v", err)
	}
	return health, stop
}

// host joins a host that leaves the work to workers.
func (s *site) host(place string) *host.Session {
	s.t.Helper()
	session, err := host.Connect(s.t.Context(), host.Options{
		Home: s.t.TempDir(), Version: "test", ChunkCommand: s.self(), Watch: true, Roles: []pipeline.Role{},
		Cluster: s.settings(place), OpenStore: s.open,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := session.Close(); err != nil {
			s.t.Errorf("close host: %v", err)
		}
	})
	return session
}

func (s *site) call(on *host.Session, verb string, params map[string]any) *tool.Envelope {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	envelope, err := on.Call(ctx, verb, params, nil)
	if err != nil {
		s.t.Fatalf("%s: %v", verb, err)
	}
	if envelope.Error != nil {
		s.t.Fatalf("%s: %v", verb, envelope.Error)
	}
	return envelope
}

// tree makes a directory of files whose text is theirs alone.
func (s *site) tree(files int) string {
	s.t.Helper()
	root := s.t.TempDir()
	for i := range files {
		s.write(root, fmt.Sprintf("p%d/f%d.go", i%7, i), fmt.Sprintf("package p\n\n// F%d is %s.\nfunc F%d() int { return %d }\n", i, rand.Text(), i, i))
	}
	return root
}

func (s *site) write(root, path, text string) {
	s.t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) get(url string) string {
	s.t.Helper()
	return s.getWith(url, "")
}

func (s *site) getWith(url, authorization string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

// TestTopology is the cluster in one process: two workers index what a synchronizer sees;
// without one of them and without one of the servers an edit is found from a host that does
// not see the tree, and the index equals a clean rebuild.
func TestTopology(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	health, _ := s.worker(worker.Options{Health: "127.0.0.1:0", Concurrency: 2})
	_, stop := s.worker(worker.Options{})
	root := s.tree(40)
	seeing, blind := s.host("one"), s.host("two")
	s.call(seeing, "index", map[string]any{"path": root, "wait": true})
	id := string(s.call(seeing, "status", map[string]any{"codebase": root}).Codebase.ID)

	stop()
	s.nats.Stop(1)
	s.write(root, "p0/new.go", "package p\n\n// Axolotl is new.\nfunc Axolotl() {}\n")
	found := s.call(blind, "search", map[string]any{"query": "Axolotl", "mode": "text", "codebase": id, "max_wait_ms": 300_000})
	if len(found.Results) == 0 || found.Results[0].FilePath != "p0/new.go" || !found.Results[0].Verified {
		t.Errorf("found %+v, %+v", found.Results, found.Freshness)
	}
	s.nats.Restart(1)
	if v := s.call(seeing, "verify", map[string]any{"codebase": root}); !v.Equal {
		t.Errorf("the index differs from a clean rebuild: %+v", v.Verification)
	}
	s.awaitLine(health+"/readyz", "200 ready")
	if got := s.get(health + "/metrics"); !strings.Contains(got, `freshet_stage_events_total{stage="chunk"}`) {
		t.Errorf("metrics: %s", got)
	}
}

// TestWorkerReady: a worker is ready while log and store answer.
func TestWorkerReady(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	health, _ := s.worker(worker.Options{Health: "127.0.0.1:0"})
	s.awaitLine(health+"/readyz", "200 ready")
	s.nats.Stop(0)
	s.awaitLine(health+"/readyz", "503 the event log does not answer")
	s.nats.Restart(0)
	s.awaitLine(health+"/readyz", "200 ready")
}

// TestWorkerBeyondLoopback: an address that other machines reach is refused without a token;
// with one the counts are given for it only, and health to everybody.
func TestWorkerBeyondLoopback(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "nonsense"} {
		o := worker.Options{Health: address, Cluster: s.settings("worker"), OpenStore: s.open, ChunkCommand: s.self()}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		if err := worker.Run(ctx, o, func(url string) { t.Errorf("%s: listens at %s", address, url) }); err == nil {
			t.Errorf("%s: not refused", address)
		}
		cancel()
	}
	const token = "correct horse battery"
	health, _ := s.worker(worker.Options{Health: "0.0.0.0:0", Token: token})
	s.awaitLine(health+"/readyz", "200 ready")
	for path, want := range map[string]string{"/healthz": "200 ok", "/metrics": "401 a bearer token is needed"} {
		if got := s.get(health + path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.100s, want %s", path, got, want)
		}
	}
	if got := s.getWith(health+"/metrics", "Bearer "+token); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "freshet_store_up 1") {
		t.Errorf("with the token: %.200s", got)
	}
	if got := s.getWith(health+"/metrics", "Bearer wrong"); !strings.HasPrefix(got, "401 ") {
		t.Errorf("with another: %.200s", got)
	}
}

// Promise 7: what one host embedded no other host embeds again.
func TestWorkOnceAcrossHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.worker(worker.Options{})
	root := s.tree(60)
	s.call(s.host("one"), "index", map[string]any{"path": root, "wait": true})
	first := s.provider.texts.Load()
	if first == 0 {
		t.Fatal("nothing was embedded")
	}
	clone := s.t.TempDir()
	if err := os.CopyFS(clone, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	second := s.host("two")
	s.call(second, "index", map[string]any{"path": clone, "wait": true})
	if again := s.provider.texts.Load() - first; again != 0 {
		t.Errorf("the clone had %d texts embedded", again)
	}
	found := s.call(second, "search", map[string]any{"query": "F7", "mode": "symbol", "codebase": clone, "freshness": "strict", "max_wait_ms": 300_000})
	if len(found.Results) == 0 || found.Freshness.State != "current" {
		t.Errorf("the clone answers %+v", found.Freshness)
	}
}

// TestAnotherRecipeIsLeft: a worker of another recipe does none of the work, however long it
// is alone with it; the one that has the recipe does all.
func TestAnotherRecipeIsLeft(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	other := &counting{Provider: builtin.New(), model: "other"}
	health, _ := s.worker(worker.Options{Provider: other, Health: "127.0.0.1:0"})
	root := s.tree(20)
	seeing := s.host("one")
	s.call(seeing, "index", map[string]any{"path": root, "wait": false})
	s.worker(worker.Options{})
	s.call(seeing, "index", map[string]any{"path": root, "wait": true})
	if other.texts.Load() > 0 || s.provider.texts.Load() == 0 {
		t.Errorf("embedded %d and %d texts", other.texts.Load(), s.provider.texts.Load())
	}
	counts := s.get(health + "/metrics")
	for _, none := range []string{`events_total{stage="chunk"} 0`, `events_total{stage="embed"} 0`, `retries_total{cause="file"} 0`, `retries_total{cause="unavailable"} 0`} {
		if !strings.Contains(counts, none) {
			t.Errorf("the worker of another recipe did not leave the work, want %s in\n%s", none, counts)
		}
	}
}

// TestEditOvertakesBulk: while the later files of a first index wait, however long, an edit
// of another codebase is indexed.
func TestEditOvertakesBulk(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	open, held := make(chan struct{}), make(chan struct{}, 100)
	s.provider.gate = func(texts []string) {
		if strings.Contains(strings.Join(texts, ""), "Gated") {
			held <- struct{}{}
			<-open
		}
	}
	release := sync.OnceFunc(func() { close(open) })
	t.Cleanup(release)
	s.worker(worker.Options{})
	bulk, small := s.t.TempDir(), s.tree(5)
	for i := range 500 {
		name := "F"
		if i >= 200 { // beyond what goes the way of an edit
			name = "Gated"
		}
		s.write(bulk, fmt.Sprintf("f%04d.go", i), fmt.Sprintf("package p\n\nfunc %s%d() int { return %d }\n", name, i, i))
	}
	on := s.host("one")
	s.call(on, "index", map[string]any{"path": small, "wait": true})
	s.call(on, "index", map[string]any{"path": bulk, "wait": false})
	<-held
	s.write(small, "edit.go", "package p\n\n// Wombat was not here.\nfunc Wombat() {}\n")
	found := s.call(on, "search", map[string]any{"query": "Wombat", "mode": "text", "codebase": small, "max_wait_ms": 300_000})
	if len(found.Results) == 0 || found.Freshness.State == "behind" {
		t.Errorf("the edit waits: %+v", found.Freshness)
	}
	// Its words may be sealed meanwhile.
	if state := s.call(on, "status", map[string]any{"codebase": bulk}); state.Freshness.Level == store.LevelFull.String() {
		t.Errorf("the large codebase is %s already, at level %s", state.State, state.Freshness.Level)
	}
	release()
	s.call(on, "index", map[string]any{"path": bulk, "wait": true})
}

// TestEditOvertakesASeal: while the segments of a large codebase are built, however long, an
// edit of another one is sealed.
func TestEditOvertakesASeal(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	open, held := make(chan struct{}), make(chan struct{}, 100)
	release := sync.OnceFunc(func() { close(open) })
	var slow atomic.Pointer[store.CodebaseID]
	s.building = func(id store.CodebaseID) {
		if large := slow.Load(); large != nil && *large == id {
			held <- struct{}{}
			<-open
		}
	}
	s.worker(worker.Options{})
	t.Cleanup(release) // before the worker is stopped
	large, small := s.tree(20), s.tree(5)
	on := s.host("one")
	id := s.call(on, "index", map[string]any{"path": large, "wait": true}).Codebase.ID
	s.call(on, "index", map[string]any{"path": small, "wait": true})
	slow.Store(&id)
	s.write(large, "more.go", "package p\n\nfunc More() {}\n")
	s.call(on, "index", map[string]any{"path": large, "wait": false})
	<-held
	s.write(small, "edit.go", "package p\n\n// Wombat was not here.\nfunc Wombat() {}\n")
	found := s.call(on, "search", map[string]any{"query": "Wombat", "mode": "text", "codebase": small, "max_wait_ms": 300_000})
	if len(found.Results) == 0 || found.Freshness.State == "behind" {
		t.Errorf("the edit waits: %+v", found.Freshness)
	}
	release()
	found = s.call(on, "search", map[string]any{"query": "More", "mode": "symbol", "codebase": large, "max_wait_ms": 300_000})
	if len(found.Results) == 0 || found.Freshness.State == "behind" {
		t.Errorf("what was built is not served: %+v", found.Freshness)
	}
}

// TestHealthIsOnLoopback: nothing wider is listened on.
func TestHealthIsOnLoopback(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for _, address := range []string{"0.0.0.0:0", ":0", "example.org:1", "nonsense"} {
		err := worker.Run(t.Context(), worker.Options{
			Cluster: s.settings("worker"), OpenStore: s.open, ChunkCommand: s.self(), Health: address,
		}, func(string) { t.Errorf("%s was taken", address) })
		if err == nil {
			t.Errorf("%s was taken", address)
		}
	}
}

// TestWorkerRefusesForeignHosts asks as the browser of a user does for a web page whose name
// was rebound to loopback, or for a page of another origin: no page of a worker answers.
func TestWorkerRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	health, _ := s.worker(worker.Options{Health: "127.0.0.1:0"})
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		for name, change := range map[string]func(r *http.Request){
			"a rebound name": func(r *http.Request) { r.Host = "attacker.example:80" },
			"another origin": func(r *http.Request) { r.Header.Set("Origin", "http://attacker.example") },
			"another site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, health+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			change(request)
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusForbidden {
				t.Errorf("%s for %s: %s, want 403", path, name, response.Status)
			}
		}
		if got := s.get(health + path); !strings.HasPrefix(got, "200 ") {
			t.Errorf("%s for this machine: %.100s", path, got)
		}
	}
}

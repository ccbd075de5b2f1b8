package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/cmd/provider"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/embedding"
)

// The embedding service of this measurement, which takes its time and knows nothing.
const (
	serviceModel     = "bench"
	serviceDimension = 256
	serviceTakes     = 50 * time.Millisecond
	// lookEvery is the time between looks at what is left, which take the cores' time too.
	lookEvery = 250 * time.Millisecond
)

// measureWorkers measures what 1, 2 and 4 worker processes, of one core each as long as there
// are so many, cut and embed of a tree in a cluster, embedding by a service on loopback that
// takes 50 ms a request whatever it is asked; and the time from an edit to the answer that
// has it.
func measureWorkers(ctx context.Context, s settings) (err error) {
	work, err := os.MkdirTemp("", "freshet-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if s.program, err = s.built(ctx, work); err != nil {
		return err
	}
	files, bytes, err := treeSize(s.repo)
	if err != nil {
		return err
	}
	s.printf("%s: %d files, %.1f MB; %d cores; %d calls of a worker at once; load %s\n", filepath.Base(s.repo), files, float64(bytes)/1e6, runtime.NumCPU(), s.calls, load())
	var first [2]float64
	for _, n := range []int{1, 2, 4} {
		y, err := s.openYard(ctx, filepath.Join(work, strconv.Itoa(n)))
		if err != nil {
			return err
		}
		cut, embedded, err := y.throughput(ctx, n)
		if err == nil && n == 4 {
			err = y.edits(ctx)
		}
		if err = errors.Join(err, y.close()); err != nil {
			return err
		}
		if n == 1 {
			first = [2]float64{cut, embedded}
		}
		s.printf("%d workers: %.0f files cut a second (%.2f of one), %.0f vectors a second (%.2f of one)\n", n, cut, cut/first[0], embedded, embedded/first[1])
	}
	return nil
}

// yard is a cluster with a synchronizer in this process, and workers in others.
type yard struct {
	settings
	shared  cluster.Settings
	stop    func() error
	service *httptest.Server
	slow    *slowService
	session *host.Session
	workers []*exec.Cmd
}

func (s settings) openYard(ctx context.Context, dir string) (*yard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	y := &yard{settings: s, slow: &slowService{open: make(chan struct{})}}
	if y.shared, y.stop, err = openCluster(dir); err != nil {
		return nil, err
	}
	y.service = httptest.NewServer(y.slow)
	choice := provider.Embedder{Name: provider.OpenAI, URL: y.service.URL, Model: serviceModel, Dimension: serviceDimension}
	y.session, err = host.Connect(ctx, host.Options{
		Home: filepath.Join(dir, "home"), Version: "bench", ChunkCommand: []string{self, childVerb}, Cluster: y.shared, Roles: []pipeline.Role{},
		Provider: func(ctx context.Context, home string) (embedding.Querier, error) {
			return choice.Open(ctx, provider.MemoryIn(home))
		},
	})
	return y, err
}

func (y *yard) close() error {
	var errs []error
	for _, w := range y.workers {
		errs = append(errs, w.Process.Signal(syscall.SIGTERM))
	}
	for _, w := range y.workers {
		errs = append(errs, w.Wait())
	}
	errs = append(errs, y.session.Close())
	y.service.Close()
	return errors.Join(append(errs, y.stop())...)
}

// work starts n workers with some roles and waits until they take work.
func (y *yard) work(ctx context.Context, n int, roles string) error {
	for range n {
		cmd := exec.CommandContext(ctx, y.program, "worker", "--role", roles)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "FRESHET_NATS_URL="+y.shared.NATS, "FRESHET_DATABASE_URL="+y.shared.Database, "FRESHET_TENANT="+y.shared.Tenant,
			"FRESHET_EMBEDDER=openai", "FRESHET_EMBEDDER_URL="+y.service.URL, "FRESHET_EMBEDDER_MODEL="+serviceModel, "FRESHET_EMBEDDER_DIMENSION="+strconv.Itoa(serviceDimension),
			"FRESHET_EMBEDDER_CONCURRENCY="+strconv.Itoa(y.calls))
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		y.workers = append(y.workers, cmd)
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return fmt.Errorf("a worker with role %s does not begin: %w", roles, err)
		}
	}
	return nil
}

func (y *yard) call(ctx context.Context, verb string, params map[string]any) (*tool.Envelope, error) {
	envelope, err := y.session.Call(ctx, verb, params, nil)
	if err == nil && envelope.Error != nil {
		err = fmt.Errorf("%s: %w", verb, envelope.Error)
	}
	return envelope, err
}

// throughput returns how many files n workers cut a second, from the first that is cut to
// the last, and how many vectors they made, from when all may begin to the last.
func (y *yard) throughput(ctx context.Context, n int) (cut, embedded float64, err error) {
	if _, err := y.call(ctx, "index", map[string]any{"path": y.repo}); err != nil {
		return 0, 0, err
	}
	total, err := y.settled(ctx, func(l tool.Lag) bool { return l.Chunk > 0 && l.Outbox == 0 })
	if err != nil {
		return 0, 0, err
	}
	if err := y.work(ctx, n, "chunk"); err != nil {
		return 0, 0, err
	}
	begun, err := y.settled(ctx, func(l tool.Lag) bool { return l.Chunk < total.Chunk })
	if err != nil {
		return 0, 0, err
	}
	started := time.Now()
	if _, err := y.settled(ctx, func(l tool.Lag) bool { return l.Chunk == 0 }); err != nil {
		return 0, 0, err
	}
	cut = float64(begun.Chunk) / time.Since(started).Seconds()
	if err := y.work(ctx, n, "embed"); err != nil {
		return 0, 0, err
	}
	started = time.Now()
	close(y.slow.open)
	if _, err := y.settled(ctx, func(l tool.Lag) bool { return l.Embed == 0 }); err != nil {
		return 0, 0, err
	}
	texts, last := y.slow.counts()
	if err := y.work(ctx, 1, "apply"); err != nil {
		return 0, 0, err
	}
	_, err = y.call(ctx, "index", map[string]any{"path": y.repo, "wait": true})
	return cut, float64(texts) / last.Sub(started).Seconds(), err
}

// settled waits until the work that is left is as wanted.
func (y *yard) settled(ctx context.Context, done func(tool.Lag) bool) (tool.Lag, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		envelope, err := y.call(ctx, "status", map[string]any{"codebase": y.repo})
		if err != nil {
			return tool.Lag{}, err
		}
		if all := envelope.Codebases; all != nil && len(*all) == 1 && done((*all)[0].Lag) {
			return (*all)[0].Lag, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return tool.Lag{}, ctx.Err()
		}
	}
}

// edits times edits until the answer that has them.
func (y *yard) edits(ctx context.Context) error {
	path := filepath.Join(y.repo, "freshet_bench_edit.go")
	defer func() { _ = os.Remove(path) }()
	var took []float64
	for range y.rounds {
		word := fmt.Sprintf("benchword%dx", time.Now().UnixNano())
		if err := os.WriteFile(path, fmt.Appendf(nil, "package bench\n\nfunc Edit() string { return %q }\n", word), 0o644); err != nil {
			return err
		}
		started := time.Now()
		envelope, err := y.call(ctx, "search", map[string]any{"query": word, "codebase": y.repo, "mode": "text", "freshness": "strict", "max_wait_ms": 10000})
		if err != nil {
			return err
		}
		if len(envelope.Results) == 0 {
			return fmt.Errorf("the edit is not in the answer, which is %s", envelope.Freshness.State)
		}
		took = append(took, float64(time.Since(started).Microseconds())/1000)
	}
	y.printf("edit to searchable over the cluster, %d rounds: p50 %.1f ms, p95 %.1f ms\n", y.rounds, median(took), quantile(took, 0.95))
	return nil
}

// slowService is an embedding service in the format of OpenAI. It answers from when it is opened.
type slowService struct {
	open chan struct{}

	mu    sync.Mutex // guards what follows
	texts int
	last  time.Time
}

func (s *slowService) counts() (texts int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts, s.last
}

func (s *slowService) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct {
		Input []string `json:"input"`
	}
	if err = errors.Join(err, json.Unmarshal(body, &in)); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-s.open:
	case <-r.Context().Done():
		return
	}
	answered := time.NewTimer(serviceTakes)
	defer answered.Stop()
	type row struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	out := struct {
		Data []row `json:"data"`
	}{Data: make([]row, len(in.Input))}
	for i, text := range in.Input {
		v := make([]float32, serviceDimension)
		for at := range len(text) {
			v[text[at]]++
		}
		out.Data[i] = row{i, v}
	}
	data, err := json.Marshal(out)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	select {
	case <-answered.C:
	case <-r.Context().Done():
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts, s.last = s.texts+len(in.Input), time.Now()
}

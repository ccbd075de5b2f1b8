package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/canon"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/segment"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/scan"
)

// tester is what a rig needs of a test, be it one of testing's or one of rapid's.
type tester interface {
	rapid.TB
	Context() context.Context
	Cleanup(f func())
}

// rig is a whole pipeline over a directory, in this process: a real tree, the real parsers,
// and whatever store and bus a test brings.
type rig struct {
	t        tester
	root     string
	store    store.Store
	bus      bus.Bus
	cutter   *countingCutter
	provider *countingProvider
	recipe   store.Recipe
	pipeline *pipeline.Pipeline
	sync     *merklesync.Synchronizer
	codebase store.Codebase
	stop     func()

	mu      sync.Mutex // guards changed
	changed chan struct{}
}

type rigOptions struct {
	root     string      // "" makes a new directory
	store    store.Store // nil means a new memstore
	bus      bus.Bus     // nil means a new membus
	chunker  string      // "" means chunk.Version
	provider embedding.Provider
	slow     *slowCutter // cuts in the place of the counting cutter
	name     string      // of the codebase
	// threshold is pipeline.Parts.TextThreshold.
	threshold  int
	reconcile  time.Duration
	candidates pipeline.CandidateIndex
	holder     string        // that of pipeline.Parts
	compact    time.Duration // pipeline.Parts.CompactEvery
}

// newRig starts a pipeline that ends with the test, or with stop.
func newRig(t tester, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, root: o.root, store: o.store, bus: o.bus, cutter: &countingCutter{}, changed: make(chan struct{})}
	if r.root == "" {
		r.root = temporary(t)
	}
	if r.store == nil {
		r.store = memstore.New(memstore.Options{})
	}
	if r.bus == nil {
		r.bus = membus.New()
		t.Cleanup(func() { closeOf(t, r.bus) })
	}
	if o.provider == nil {
		o.provider = builtin.New()
	}
	if o.chunker == "" {
		o.chunker = chunk.Version
	}
	if o.name == "" {
		o.name = "tree"
	}
	r.provider = &countingProvider{Provider: o.provider}
	r.recipe = store.Recipe{
		Schema: segment.Version, Tokenizer: lexical.Version, Embedding: o.provider.Recipe(),
		Chunker: o.chunker, Grammars: chunk.Grammars(), IgnoreRules: scan.Version,
	}
	var cutter stage.Cutter = r.cutter
	if o.slow != nil {
		cutter = o.slow
	}
	r.pipeline = pipeline.New(pipeline.Parts{
		Store: r.store, Bus: r.bus, Recipe: r.recipe, Provider: r.provider, Cutter: cutter,
		Quarantine: chunk.Quarantine, Fallback: chunk.Fallback, TextThreshold: o.threshold, Tree: folder(r.root),
		Reconcile: o.reconcile, OnSealed: r.sealed, Candidates: o.candidates,
		Holder: o.holder, CompactEvery: o.compact,
	})
	identity, err := scan.Identity(r.root)
	r.must(err)
	r.codebase, err = r.store.Register(t.Context(), store.Codebase{
		ID: store.CodebaseID("c" + o.name), Name: o.name, Root: r.root, Identity: identity,
	})
	r.must(err)
	r.sync = merklesync.New(r.store, r.codebase.ID, merklesync.Options{Outbox: r.pipeline.Outbox, Recipe: r.recipe})
	_, err = r.pipeline.Reconciler.Heal(t.Context())
	r.must(err)
	r.start()
	return r
}

func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.pipeline.Run(ctx) })
	g.Go(func() error { return r.sync.Run(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			r.t.Errorf("pipeline ended: %v", err)
		}
	})
	r.t.Cleanup(r.stop)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) sealed(snapshot store.Snapshot) {
	r.sync.Sealed(snapshot)
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *rig) awaitChange() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// write makes or changes a file.
func (r *rig) write(path, content string) {
	r.t.Helper()
	full := filepath.Join(r.root, path)
	r.must(os.MkdirAll(filepath.Dir(full), 0o755))
	r.must(os.WriteFile(full, []byte(content), 0o644))
}

func (r *rig) remove(path string) {
	r.t.Helper()
	r.must(os.RemoveAll(filepath.Join(r.root, path)))
}

func (r *rig) rename(from, to string) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(filepath.Join(r.root, to)), 0o755))
	r.must(os.Rename(filepath.Join(r.root, from), filepath.Join(r.root, to)))
}

// catchUp checks and waits until the tree as it is now is sealed full, and returns the
// snapshot.
func (r *rig) catchUp() store.Snapshot {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Minute)
	defer cancel()
	seen, err := r.sync.Check(ctx)
	r.must(err)
	for {
		changed := r.awaitChange()
		snapshot := r.current()
		// An older snapshot of the same tree is not enough: one of another tree, opened between
		// them, may be sealed yet.
		if snapshot.Number >= seen.Snapshot && snapshot.Level == store.LevelFull && snapshot.Root == seen.Root &&
			snapshot.Fingerprint == r.recipe.Fingerprint() {
			return snapshot
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.t.Fatalf("snapshot %d was not sealed in time", seen.Snapshot)
		}
	}
}

func (r *rig) current() store.Snapshot {
	r.t.Helper()
	c, err := r.store.Codebase(r.t.Context(), r.codebase.ID)
	r.must(err)
	if c.Current == 0 {
		return store.Snapshot{}
	}
	s, err := r.store.Snapshot(r.t.Context(), r.codebase.ID, c.Current)
	r.must(err)
	return s
}

// digest is the canonical digest of what is served.
func (r *rig) digest() string {
	r.t.Helper()
	digest, _ := r.export()
	return digest
}

// export returns the canonical digest of what is served, and its lines.
func (r *rig) export() (digest string, lines []string) {
	r.t.Helper()
	digest, _, err := canon.Export(r.t.Context(), r.store, r.codebase.ID, r.current().Number, canon.Options{Recipe: r.recipe},
		func(line string) error {
			lines = append(lines, line)
			return nil
		})
	r.must(err)
	return digest, lines
}

// exportClean is export of a build of the tree from nothing.
func (r *rig) exportClean() (digest string, lines []string) {
	r.t.Helper()
	clean := newRig(r.t, rigOptions{root: r.root, chunker: r.recipe.Chunker, provider: r.provider.Provider, threshold: -1})
	defer clean.stop()
	clean.catchUp()
	return clean.export()
}

// wantClean fails the test unless the index equals one from scratch, and its segments hold
// what its store says.
func (r *rig) wantClean() {
	r.t.Helper()
	err := canon.CheckSegments(r.t.Context(), r.store, r.codebase.ID, r.current().Number, canon.Options{Recipe: r.recipe},
		r.pipeline.Sealer.Load, func(path, what string) { r.t.Errorf("%s: %s", path, what) })
	r.must(err)
	digest, got := r.export()
	clean, want := r.exportClean()
	if digest != clean {
		r.t.Errorf("the digest is not that of a clean build:\n%s", cmp.Diff(want, got))
	}
}

// countingCutter cuts in this process and counts.
type countingCutter struct{ calls atomic.Int64 }

func (c *countingCutter) Cut(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	c.calls.Add(1)
	return chunk.Cut(language, content), nil
}

// countingProvider counts calls and texts.
type countingProvider struct {
	embedding.Provider
	calls, texts atomic.Int64
}

func (p *countingProvider) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	p.calls.Add(1)
	p.texts.Add(int64(len(texts)))
	return p.Provider.Embed(ctx, kind, texts)
}

// PathVector passes on what the built-in provider gives.
func (p *countingProvider) PathVector(path string) []float32 {
	if local, ok := p.Provider.(embedding.PathEmbedder); ok {
		return local.PathVector(path)
	}
	return nil
}

// work returns the parses and the texts embedded since it was last called.
func (r *rig) work() (parses, texts int64) {
	return r.cutter.calls.Swap(0), r.provider.texts.Swap(0)
}

// temporary makes a directory that goes with the test.
func temporary(t tester) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "freshet-rig-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

func closeOf(t tester, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// goFile is a small Go source whose content depends on its arguments.
func goFile(pkg string, functions ...string) string {
	source := "package " + pkg + "\n"
	for _, name := range functions {
		source += fmt.Sprintf("\n// %s does what its name says.\nfunc %s(in string) string {\n\treturn in + %q\n}\n", name, name, name)
	}
	return source
}

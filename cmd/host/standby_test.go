package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// severed is a store behind a connection that can be cut, as far as answers read it.
type severed struct {
	store.Store
	cut *atomic.Bool
}

func through[V any](s severed, read func() (V, error)) (V, error) {
	if s.cut.Load() {
		var none V
		return none, fmt.Errorf("dial: %w", store.ErrUnavailable)
	}
	return read()
}

func (severed) Close() error { return nil }

func (s severed) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	return through(s, func() (store.Lease, error) { return s.Store.Acquire(ctx, name, holder, ttl) })
}

func (s severed) Codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	return through(s, func() (store.Codebase, error) { return s.Store.Codebase(ctx, id) })
}

func (s severed) Codebases(ctx context.Context) ([]store.Codebase, error) {
	return through(s, func() ([]store.Codebase, error) { return s.Store.Codebases(ctx) })
}

func (s severed) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (store.Snapshot, error) {
	return through(s, func() (store.Snapshot, error) { return s.Store.Snapshot(ctx, id, number) })
}

func (s severed) View(ctx context.Context, id store.CodebaseID, number uint64) (store.View, error) {
	return through(s, func() (store.View, error) { return s.Store.View(ctx, id, number) })
}

func (s severed) Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error) {
	return through(s, func() (store.Recipe, error) { return s.Store.Recipe(ctx, fp) })
}

func (s severed) LogPosition(ctx context.Context) (store.LogPosition, error) {
	return through(s, func() (store.LogPosition, error) { return s.Store.LogPosition(ctx) })
}

func (s severed) Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error) {
	return through(s, func() ([]store.Failure, error) { return s.Store.Failures(ctx, id) })
}

func (s severed) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	return through(s, func() ([]byte, error) { return s.Store.Content(ctx, h) })
}

func (s severed) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	return through(s, func() (map[store.SyntaxKey]store.Syntax, error) { return s.Store.Syntax(ctx, keys) })
}

func (s severed) OpenSegment(ctx context.Context, id store.SegmentID) (store.Segment, error) {
	return through(s, func() (store.Segment, error) { return s.Store.OpenSegment(ctx, id) })
}

func (s severed) HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	return through(s, func() (map[merkle.Hash]bool, error) { return s.Store.HasContents(ctx, hashes) })
}

func (s severed) Open(ctx context.Context, o store.Opening) (store.Snapshot, error) {
	return through(s, func() (store.Snapshot, error) { return s.Store.Open(ctx, o) })
}

// leaseEnds is a log that hears of the end of a synchronizer's lease.
type leaseEnds chan string

func (leaseEnds) Enabled(context.Context, slog.Level) bool { return true }
func (l leaseEnds) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l leaseEnds) WithGroup(string) slog.Handler          { return l }
func (l leaseEnds) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "lease" && strings.HasPrefix(a.Value.String(), "sync/") && r.Level >= slog.LevelWarn {
			select {
			case l <- r.Message:
			default: // it was heard of
			}
		}
		return true
	})
	return nil
}

// wait waits until the lease has ended, whether its holder lingers or not.
func (l leaseEnds) wait(t *testing.T) {
	t.Helper()
	select {
	case <-l:
	case <-time.After(5 * time.Minute):
		t.Fatal("no lease ended")
	}
}

// TestProvenWithoutTheStore: while the store is away from everybody, longer than a lease
// lasts, an unchanged tree is proven, and a changed one is not.
func TestProvenWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := tree(t)
	var cut atomic.Bool
	ends := make(leaseEnds, 1)
	s.log = slog.New(ends)
	seeing := s.joinThrough(t, "one", true, nil, severed{s.store, &cut})
	s.log = nil
	must(t, seeing, "index", map[string]any{"path": root, "wait": true})
	blind := s.joinThrough(t, "two", false, nothing(), severed{s.store, &cut})
	id := string(must(t, seeing, "status", map[string]any{"codebase": root}).Codebase.ID)
	find := func(on *Session, word, mode string, wait time.Duration) *tool.Envelope {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		envelope, err := on.Call(ctx, "search", map[string]any{"query": word, "mode": "text", "codebase": id, "freshness": mode, "max_wait_ms": wait.Milliseconds()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	hosts := map[string]*Session{"who sees": seeing, "who does not": blind}
	for name, on := range hosts {
		if e := find(on, "Name7", "strict", 5*time.Minute); e.Error != nil || len(e.Results) == 0 {
			t.Fatalf("%s, with the store: %v, %d hits", name, e.Error, len(e.Results))
		}
	}
	cut.Store(true)
	ends.wait(t)
	for name, on := range hosts {
		if e := find(on, "Name7", "strict", 5*time.Minute); e.Error != nil || e.Freshness.State != "current" || len(e.Results) == 0 {
			t.Errorf("%s, an unchanged tree: %v, %+v, %d hits", name, e.Error, e.Freshness, len(e.Results))
		}
	}
	write(t, root, "new.go", "package pkg\n\n// Quagga is new.\nfunc Quagga() {}\n")
	for name, on := range hosts {
		if e := find(on, "Name7", "verified", 500*time.Millisecond); e.Error != nil || e.Freshness.State == "current" || e.Freshness.State == "caught_up" {
			t.Errorf("%s, a changed tree: %v, %+v", name, e.Error, e.Freshness)
		}
	}
	cut.Store(false)
	for name, on := range hosts {
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			e := find(on, "Quagga", "strict", 500*time.Millisecond)
			if e.Error == nil && len(e.Results) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s, the store is back: %v, %d hits, %+v", name, e.Error, len(e.Results), e.Freshness)
			}
		}
	}
}

// TestAnswersWithoutTheStore: a host that is cut off from the store answers from what it
// read, proven by who sees the tree, and says so; what was indexed elsewhere since makes its
// answer one that is behind. Hits that it never read come without their code.
func TestAnswersWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := tree(t)
	seeing := s.join(t, "one", true, nil)
	must(t, seeing, "index", map[string]any{"path": root, "wait": true})
	var cut atomic.Bool
	blind := s.joinThrough(t, "two", false, nothing(), severed{s.store, &cut})
	id := string(must(t, seeing, "status", map[string]any{"codebase": root}).Codebase.ID)
	find := func(word, mode string, wait time.Duration, of ...string) *tool.Envelope {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		envelope, err := blind.Call(ctx, "search", map[string]any{
			"query": word, "mode": "text", "codebase": append(of, id)[0], "freshness": mode, "max_wait_ms": wait.Milliseconds(), "session_id": "s", "limit": 1,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	warned := func(e *tool.Envelope, code string) bool {
		return slices.ContainsFunc(e.Warnings, func(w search.Warning) bool { return w.Code == code })
	}
	if e := find("Name7", "strict", 5*time.Minute); e.Error != nil || len(e.Results) == 0 || warned(e, "store_away") {
		t.Fatalf("with the store: %v, %d hits, %+v", e.Error, len(e.Results), e.Warnings)
	}
	cut.Store(true)
	e := find("Name7", "strict", 5*time.Minute)
	if e.Error != nil || e.Freshness.State != "current" || len(e.Results) == 0 || e.Results[0].Content == "" || !warned(e, "store_away") {
		t.Errorf("without it: %v, %+v, %d hits, %+v", e.Error, e.Freshness, len(e.Results), e.Warnings)
	}
	if e := find("Name3", "strict", 5*time.Minute); e.Error != nil || len(e.Results) == 0 || !warned(e, "code_missing") {
		t.Errorf("a file that was never read: %v, %d hits, %+v", e.Error, len(e.Results), e.Warnings)
	}
	other := tree(t)
	must(t, seeing, "index", map[string]any{"path": other, "wait": true})
	if e := must(t, seeing, "status", map[string]any{"codebase": other}); e.Error != nil {
		t.Fatal(e.Error)
	} else if e := find("Name7", "verified", 5*time.Minute, string(e.Codebase.ID)); e.Error == nil || e.Error.Code != tool.CodeStoreUnavailable {
		t.Errorf("a codebase that it never heard of: %+v", e.Error)
	}
	write(t, root, "new.go", "package pkg\n\n// Quagga is new.\nfunc Quagga() {}\n")
	must(t, seeing, "index", map[string]any{"path": root, "wait": true})
	if e := find("Name7", "verified", 15*time.Second); e.Error != nil || e.Freshness.State != "behind" || !warned(e, "store_away") {
		t.Errorf("after an edit that it cannot know: %v, %+v", e.Error, e.Freshness)
	}
	if e := find("Quagga", "strict", 2*time.Second); e.Error == nil || e.Error.Code != tool.CodeStaleTimeout {
		t.Errorf("strict after that edit: %v", e.Error)
	}
	cut.Store(false)
	deadline := time.Now().Add(5 * time.Minute)
	for {
		e := find("Quagga", "verified", 2*time.Second)
		if len(e.Results) > 0 && !warned(e, "store_away") && (e.Freshness.State == "current" || e.Freshness.State == "caught_up") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the store is back: %d hits, %+v, %+v", len(e.Results), e.Freshness, e.Warnings)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

package freshness_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"log/slog"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/freshness"
	"github.com/freshet/freshet/sync/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = store.CodebaseID("ctested")

func recipe() store.Recipe { return store.Recipe{Schema: 1, IgnoreRules: scan.Version} }

// silent publishes nothing.
type silent struct{}

func (silent) Flush(context.Context) error { return nil }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// registered is a store with one codebase of one file.
func registered(t *testing.T) (s store.Store, root string) {
	t.Helper()
	root = t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n"), 0o600))
	identity, err := scan.Identity(root)
	must(t, err)
	s = memstore.New(memstore.Options{})
	t.Cleanup(func() { must(t, s.Close()) })
	_, err = s.Register(t.Context(), store.Codebase{ID: id, Name: "tested", Root: root, Identity: identity})
	must(t, err)
	return s, root
}

// follow returns followers over a store that end with the test, or when end is called.
func follow(t *testing.T, s store.Store, sharing *freshness.Sharing) (f *freshness.Followers, end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	work, ctx := errgroup.WithContext(ctx)
	f = freshness.NewFollowers(freshness.FollowerOptions{
		Make: func(id store.CodebaseID, replaced func()) *merklesync.Synchronizer {
			return merklesync.New(s, id, merklesync.Options{Outbox: silent{}, Recipe: recipe(), OnReplaced: replaced})
		},
		Go:      func(fn func(context.Context) error) { work.Go(func() error { return fn(ctx) }) },
		Sharing: sharing,
	})
	end = sync.OnceFunc(func() {
		f.Close()
		stop()
		if err := work.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return f, end
}

// peers carry questions between the processes of a test.
type peers struct {
	mu      sync.Mutex
	answers map[store.CodebaseID]func(context.Context, []byte) ([]byte, error)
	asked   int
}

// Serve answers until ctx ends.
func (p *peers) Serve(ctx context.Context, id store.CodebaseID, answer func(context.Context, []byte) ([]byte, error)) error {
	p.set(id, answer)
	<-ctx.Done()
	p.set(id, nil)
	return nil
}

func (p *peers) set(id store.CodebaseID, answer func(context.Context, []byte) ([]byte, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[id] = answer
}

// Ask has the process answer that serves the codebase.
func (p *peers) Ask(ctx context.Context, id store.CodebaseID, request []byte) ([]byte, error) {
	p.mu.Lock()
	answer := p.answers[id]
	p.asked++
	p.mu.Unlock()
	if answer == nil {
		return nil, bus.ErrNoAnswer
	}
	return answer(ctx, request)
}

// errTold is what a process reads of another's fault.
var errTold = errors.New("told by another process")

func sharing(s store.Store, p *peers, holder string, here bool) *freshness.Sharing {
	return &freshness.Sharing{
		Leases: s, Holder: holder, Peers: p, Log: slog.New(slog.DiscardHandler),
		Here:  func(context.Context, store.CodebaseID) (bool, error) { return here, nil },
		Files: func(context.Context, store.CodebaseID, []byte) ([]byte, error) { return []byte("a file"), nil },
		EncodeFault: func(_ store.CodebaseID, err error) json.RawMessage {
			if errors.Is(err, scan.ErrRootVanished) {
				return json.RawMessage(`"vanished"`)
			}
			return nil
		},
		DecodeFault: func(json.RawMessage) error { return errTold },
	}
}

// TestTheLeaseHolderAnswersForTheOthers: a process that does not see a tree is told what the
// one sees that holds the lease: the same observation, names that are no UTF-8 included, and
// the same fault. Questions about single files go to whoever answers those.
func TestTheLeaseHolderAnswersForTheOthers(t *testing.T) {
	t.Parallel()
	s, root := registered(t)
	must(t, os.WriteFile(filepath.Join(root, "b\xff.go"), []byte("package a\n"), 0o600))
	p := &peers{answers: map[store.CodebaseID]func(context.Context, []byte) ([]byte, error){}}
	sees, _ := follow(t, s, sharing(s, p, "sees", true))
	asks, _ := follow(t, s, sharing(s, p, "asks", false))
	own, err := sees.Follow(id)
	must(t, err)
	other, err := asks.Follow(id)
	must(t, err)
	want, err := own.Check(t.Context())
	must(t, err)
	got, err := other.Check(t.Context())
	must(t, err)
	if got.Root != want.Root || !slices.Equal(got.Changes, want.Changes) || !slices.Contains(got.Changes, "b\xff.go") {
		t.Errorf("the other process is told %q with root %s, want %q with %s", got.Changes, got.Root.Short(), want.Changes, want.Root.Short())
	}
	if p.asked == 0 {
		t.Error("nobody was asked")
	}
	if answer, err := p.Ask(t.Context(), id, []byte(`{"ask":"live","path":"a.go"}`)); err != nil || string(answer) != "a file" {
		t.Errorf("a question about a file is answered %q, %v", answer, err)
	}
	must(t, os.RemoveAll(root))
	if _, err := other.Check(t.Context()); !errors.Is(err, errTold) {
		t.Errorf("of the tree that is gone the other process is told %v", err)
	}
}

// newChecker returns a checker over a store that nothing seals.
func newChecker(s store.Store, f *freshness.Followers, hub *freshness.Hub, sealer freshness.Sealer) *freshness.Checker {
	return &freshness.Checker{
		Reads: s, Recipe: recipe(), Followers: f, Hub: hub, Sealer: sealer, Words: true, Now: time.Now,
		Away:     func() bool { return false },
		Advise:   func(_ store.CodebaseID, err error) error { return err },
		Hindered: func() bool { return false }, Warnings: func(store.CodebaseID, search.Freshness) []search.Warning { return nil },
		Proven: func(context.Context, store.CodebaseID) error { return errors.New("nothing was proven") },
	}
}

// sealer counts what it is asked to seal.
type sealer struct{ wanted, words int }

func (s *sealer) Want(store.CodebaseID) { s.wanted++ }

func (s *sealer) SealWords(context.Context, store.CodebaseID) error {
	s.words++
	return nil
}

// TestAVerdictNamesWhatIsNotProven: a tree whose changes are not sealed is behind, with their
// names; one that cannot be looked at is unknown, with the reason; a read that asked for no
// check is unchecked; none of them is called proven.
func TestAVerdictNamesWhatIsNotProven(t *testing.T) {
	t.Parallel()
	s, root := registered(t)
	f, end := follow(t, s, nil)
	var hub freshness.Hub
	seals := &sealer{}
	c := newChecker(s, f, &hub, seals)
	reading, err := c.Check(t.Context(), id, freshness.Demand{MaxWait: -1})
	must(t, err)
	if v := reading.Verdict; v.State != search.Behind || !slices.Equal(v.Pending, []string{"a.go"}) || v.Reason == "" || seals.wanted != 0 {
		t.Errorf("unsealed: %+v, %d seals wanted", v, seals.wanted)
	}
	reading, err = c.Check(t.Context(), id, freshness.Demand{MaxWait: 20 * time.Millisecond})
	must(t, err)
	if v := reading.Verdict; v.State != search.Behind || seals.wanted == 0 || seals.words == 0 {
		t.Errorf("unsealed, waited for: %+v, %d seals wanted, %d of words", v, seals.wanted, seals.words)
	}
	reading, err = c.Check(t.Context(), id, freshness.Demand{Unchecked: true})
	must(t, err)
	if v := reading.Verdict; v.State != search.Unchecked || !v.CheckedAt.IsZero() {
		t.Errorf("without a check: %+v", v)
	}
	must(t, os.RemoveAll(root))
	reading, err = c.Check(t.Context(), id, freshness.Demand{})
	must(t, err)
	if v := reading.Verdict; v.State != search.Unknown || v.Reason == "" {
		t.Errorf("without a tree: %+v", v)
	}
	end()
	if _, err := f.Follow("cother"); err == nil {
		t.Error("a codebase is followed after the end")
	}
}

// TestAVerdictCountsFilesWithSeveralHardLinks: what no event tells of is counted by each
// verdict of a check, and by no other.
func TestAVerdictCountsFilesWithSeveralHardLinks(t *testing.T) {
	t.Parallel()
	s, root := registered(t)
	f, _ := follow(t, s, nil)
	var hub freshness.Hub
	c := newChecker(s, f, &hub, &sealer{})
	counted := func(what string, d freshness.Demand, want int) {
		t.Helper()
		reading, err := c.Check(t.Context(), id, d)
		must(t, err)
		if got := reading.Verdict.LinkedFiles; got != want {
			t.Errorf("%s: %d files, want %d", what, got, want)
		}
	}
	counted("none", freshness.Demand{MaxWait: -1}, 0)
	outside := filepath.Join(t.TempDir(), "a.go")
	must(t, os.Link(filepath.Join(root, "a.go"), outside))
	must(t, os.Symlink("a.go", filepath.Join(root, "symbolic.go")))
	for range 2 {
		counted("a link outside", freshness.Demand{MaxWait: -1}, 1)
	}
	must(t, os.Link(filepath.Join(root, "a.go"), filepath.Join(root, "b.go")))
	counted("and one inside", freshness.Demand{MaxWait: -1}, 2)
	counted("without a check", freshness.Demand{Unchecked: true}, 0)
	must(t, os.Remove(outside))
	must(t, os.Remove(filepath.Join(root, "b.go")))
	counted("no longer", freshness.Demand{MaxWait: -1}, 0)
}

// TestSettleEndsWithDamage: who waits for a seal is told of damage that a worker meets
// meanwhile, and of damage before it nothing.
func TestSettleEndsWithDamage(t *testing.T) {
	t.Parallel()
	s, _ := registered(t)
	f, _ := follow(t, s, nil)
	synchronizer, err := f.Follow(id)
	must(t, err)
	seen, err := synchronizer.Check(t.Context())
	must(t, err)
	var hub freshness.Hub
	met := make(chan int) // taken by each look at the damage
	w := freshness.Settler{Store: s, Hub: &hub, Damage: func() (int, error) { return <-met, store.ErrCorrupt }}
	settled := make(chan error, 1)
	go func() {
		_, err := w.Settle(t.Context(), id, synchronizer, seen)
		settled <- err
	}()
	for _, count := range []int{1, 1, 1, 2} { // the first before the wait
		select {
		case met <- count:
			hub.NotifyAll() // a look in the wait comes after it took its channel
		case err := <-settled:
			t.Fatalf("damage of before ended the wait: %v", err)
		}
	}
	select {
	case err := <-settled:
		if !store.IsDamage(err) {
			t.Errorf("the wait ended with %v", err)
		}
	case met <- 2:
		t.Fatal("the wait goes on after damage")
	}
}

// TestHub wakes who took its channel before the change, for its codebase or for all.
func TestHub(t *testing.T) {
	t.Parallel()
	var hub freshness.Hub
	a, b := hub.Changed("ca"), hub.Changed("cb")
	closed := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	hub.Notify("ca")
	if !closed(a) || closed(b) || closed(hub.Changed("ca")) {
		t.Error("a notice of one codebase wakes others, or nobody")
	}
	again := hub.Changed("ca")
	hub.NotifyAll()
	if !closed(again) || !closed(b) {
		t.Error("a notice to all leaves one asleep")
	}
}

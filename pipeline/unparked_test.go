package pipeline_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/pgstore"
	"github.com/freshet/freshet/store/pgstore/pgtest"
	"github.com/freshet/freshet/store/sqlitestore"
)

// A file that a failure does not park any more is said to be unparked, once, by the snapshot
// that did it; one that comes back to what it was parked for is said to be parked again.
// Every message is delivered twice, and a replay of the log gives the same index.
func TestUnparkedFilesAreAnnouncedOnce(t *testing.T) {
	t.Parallel()
	poison := goFile("bad", "poison")
	for kind, open := range storeKinds() {
		for name, test := range map[string]struct {
			then func(r *rig, p *curable)
			want []string // events about parked files after the first snapshot
		}{
			"content changed": {func(r *rig, _ *curable) { r.write("bad.go", goFile("bad", "antidote")) }, []string{"2 file.unparked bad.go"}},
			"file removed":    {func(r *rig, _ *curable) { r.remove("bad.go") }, []string{"2 file.unparked bad.go"}},
			"file renamed":    {func(r *rig, p *curable) { p.cured.Store(true); r.rename("bad.go", "moved.go") }, []string{"2 file.unparked bad.go"}},
			"tried again":     {func(r *rig, p *curable) { p.cured.Store(true); r.rebuild() }, []string{"2 file.unparked bad.go"}},
			"tried in vain":   {func(r *rig, _ *curable) { r.rebuild() }, []string{"2 file.parked bad.go", "2 file.unparked bad.go"}},
			"another file":    {func(r *rig, _ *curable) { r.write("good.go", goFile("good", "Better")) }, nil},
			"content comes back": {func(r *rig, _ *curable) {
				r.write("bad.go", goFile("bad", "antidote"))
				r.catchUp()
				r.write("bad.go", poison)
			}, []string{"2 file.unparked bad.go", "3 file.parked bad.go"}},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				provider := &curable{Provider: builtin.New(), rejecting: &rejecting{Provider: builtin.New(), word: "poison"}}
				twice := &ackless{Bus: membus.New(), handled: map[string]int{}}
				t.Cleanup(func() { closeOf(t, twice.Bus) })
				r := newRig(t, rigOptions{store: open(t), bus: twice, provider: provider})
				r.write("good.go", goFile("good", "Good"))
				r.write("bad.go", poison)
				r.catchUp()
				test.then(r, provider)
				r.catchUp()
				want := append([]string{"1 file.parked bad.go"}, test.want...)
				if diff := cmp.Diff(want, r.parkings(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("events about parked files differ (-want +got):\n%s", diff)
				}
				r.wantReplayed()
			})
		}
	}
}

// A recipe under which a failure does not count unparks its file, and a way back parks it.
func TestRecipeChangeUnparks(t *testing.T) {
	t.Parallel()
	for kind, open := range storeKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			log := membus.New()
			t.Cleanup(func() { closeOf(t, log) })
			rejects := &rejecting{Provider: builtin.New(), word: "poison"}
			r := newRig(t, rigOptions{store: open(t), bus: log, provider: rejects})
			r.write("bad.go", goFile("bad", "poison"))
			r.catchUp()
			r.stop()
			other := newRig(t, rigOptions{root: r.root, store: r.store, bus: log, provider: renamed{builtin.New()}})
			other.catchUp()
			other.stop()
			newRig(t, rigOptions{root: r.root, store: r.store, bus: log, provider: rejects}).catchUp()
			want := []string{"1 file.parked bad.go", "2 file.unparked bad.go", "3 file.parked bad.go"}
			if diff := cmp.Diff(want, r.parkings()); diff != "" {
				t.Errorf("events about parked files differ (-want +got):\n%s", diff)
			}
		})
	}
}

// storeKinds opens each kind of store; the test skips where there is no database.
func storeKinds() map[string]func(t *testing.T) store.Store {
	opened := func(t *testing.T, s store.Store, err error) store.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeOf(t, s) })
		return s
	}
	return map[string]func(t *testing.T) store.Store{
		"memory": func(t *testing.T) store.Store { return opened(t, memstore.New(memstore.Options{}), nil) },
		"sqlite": func(t *testing.T) store.Store {
			s, err := sqlitestore.Open(t.Context(), t.TempDir(), sqlitestore.Options{})
			return opened(t, s, err)
		},
		"postgres": func(t *testing.T) store.Store {
			s, err := pgstore.Open(t.Context(), pgtest.Database(t), pgstore.Options{})
			return opened(t, s, err)
		},
	}
}

// curable rejects a word until it is cured.
type curable struct {
	embedding.Provider
	rejecting *rejecting
	cured     atomic.Bool
}

func (p *curable) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	if p.cured.Load() {
		return p.Provider.Embed(ctx, kind, texts)
	}
	return p.rejecting.Embed(ctx, kind, texts)
}

// renamed gives the vectors of a provider another model's name.
type renamed struct{ embedding.Provider }

func (p renamed) Recipe() store.EmbeddingRecipe {
	r := p.Provider.Recipe()
	r.Model += "-renamed"
	return r
}

// rebuild tries everything again, parked files too, and waits for the seal.
func (r *rig) rebuild() {
	r.t.Helper()
	seen, err := r.sync.Rebuild(r.t.Context())
	r.must(err)
	for {
		changed := r.awaitChange()
		if s := r.current(); s.Number == seen.Snapshot && s.Level == store.LevelFull {
			return
		}
		select {
		case <-changed:
		case <-r.t.Context().Done():
			r.t.Fatal("the rebuild was not sealed")
		}
	}
}

// logged publishes what is committed and reads the log.
func (r *rig) logged() (events []event.Event) {
	r.t.Helper()
	r.must(r.pipeline.Outbox.Flush(r.t.Context()))
	r.must(r.bus.Read(r.t.Context(), 1, 0, func(m bus.Stored) error {
		e, err := event.Decode(m.Data)
		events = append(events, e)
		return err
	}))
	return events
}

// parkings lists the events about parked files, by snapshot, type and path.
func (r *rig) parkings() (all []string) {
	r.t.Helper()
	for _, e := range r.logged() {
		if e.Parked != nil {
			all = append(all, strings.Join([]string{string('0' + rune(e.Snapshot)), string(e.Type), e.Parked.Path}, " "))
		}
	}
	slices.Sort(all)
	return all
}

// wantReplayed fails the test unless a replay of the log, by a provider that rejects nothing,
// gives the index that is served.
func (r *rig) wantReplayed() {
	r.t.Helper()
	events := r.logged()
	var out bytes.Buffer
	w, err := history.NewWriter(&out)
	r.must(err)
	r.must(history.Record(r.t.Context(), r.store, r.recipe, events, w))
	r.must(w.Close())
	h, err := history.Read(&out)
	r.must(err)
	if got, want := replay(r.t.(*testing.T), nil, h, h.Events, false), r.digest(); got != want {
		r.t.Errorf("digest of a replay %s, of the index %s; contents %v", got, want, slices.Collect(maps.Keys(h.Contents)))
	}
}

package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/apply"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/canon"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// readWait is how long a read waits for what its check found, as a reader's default is.
const readWait = 2 * time.Second

// SettleBound is within what virtual time a history that is not disturbed any more must
// become current, counted from the end of what was in hand: a store that was put back is no
// reason to wait for the periodic reconciliation. LostBound is that of a history in which
// deliveries were lost, or the log went on after it had lost messages: nothing says so, and only the periodic reconciliation finds what
// they would have done.
const (
	SettleBound = 5 * time.Second
	LostBound   = 75 * time.Second
)

// search is a read: it checks, waits a little, and compares what it is given when that is
// said to be current.
func (w *world) search(ctx context.Context) error {
	host, err := w.running(ctx)
	if err != nil {
		return err
	}
	served, current, err := w.read(ctx, host, readWait)
	if err != nil || !current {
		return err
	}
	return w.compare(ctx, host, served)
}

// read is the gate of a host: it checks the tree, and waits until the served snapshot has
// its root.
func (w *world) read(ctx context.Context, host *process, wait time.Duration) (served store.Snapshot, current bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	seen, err := host.sync.Check(ctx)
	if err != nil {
		if ctx.Err() != nil || host.dead() {
			return served, false, nil // nothing is said of the tree
		}
		if errors.Is(err, merklesync.ErrEnded) {
			return served, false, fmt.Errorf("the synchronizer ended by itself: %w", host.work.Wait())
		}
		return served, false, nil // the verdict is unknown
	}
	for {
		changed := w.awaitChange()
		if host.dead() {
			return served, false, nil
		}
		served, err = serving(ctx, host.store)
		switch {
		case ctx.Err() != nil:
			return served, false, nil
		case err != nil && !errors.Is(err, store.ErrNoSnapshot):
			return served, false, fmt.Errorf("read what is served: %w", err)
		case err == nil && verdict(seen, served, host.recipe):
			return served, true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return served, false, nil
		}
	}
}

// serving returns the snapshot that is current.
func serving(ctx context.Context, s store.Reader) (store.Snapshot, error) {
	codebase, err := s.Codebase(ctx, codebaseID)
	if err != nil {
		return store.Snapshot{}, err
	}
	if codebase.Current == 0 {
		return store.Snapshot{}, store.ErrNoSnapshot
	}
	return s.Snapshot(ctx, codebaseID, codebase.Current)
}

// verdict reports whether a read says that it is current, whole and of this recipe. What
// could not be read counts as it was, so that nothing is current then.
func verdict(seen merklesync.Observation, served store.Snapshot, recipe store.Recipe) bool {
	return seen.KeptCount == 0 && served.Root == seen.Root && served.Level == store.LevelFull && served.Fingerprint == recipe.Fingerprint()
}

// compare compares a served snapshot with an index made from scratch.
func (w *world) compare(ctx context.Context, host *process, served store.Snapshot) error {
	if w.tree.unknown != nil {
		return w.tree.unknown
	}
	truth, err := w.fromScratch(ctx, host.recipe)
	if err != nil {
		return fmt.Errorf("make an index from scratch: %w", err)
	}
	options := canon.Options{Recipe: host.recipe}
	digest, _, err := canon.Export(ctx, host.store.Store, codebaseID, served.Number, options, nil)
	if err != nil {
		return fmt.Errorf("export snapshot %d: %w", served.Number, err)
	}
	if digest != truth.digest {
		return fmt.Errorf("snapshot %d is said to be current and is not what an index from scratch has:\n%s",
			served.Number, w.difference(ctx, host, served, truth))
	}
	var notes []string
	note := func(path, what string) { notes = append(notes, fmt.Sprintf("%s: %s", path, what)) }
	if err := canon.CheckSegments(ctx, host.store.Store, codebaseID, served.Number, options, truth.load, note); err != nil {
		return fmt.Errorf("check the segments of snapshot %d: %w", served.Number, err)
	}
	if len(notes) > 0 {
		slices.Sort(notes)
		return fmt.Errorf("snapshot %d is said to be current and its segments are wrong:\n%s", served.Number, strings.Join(notes, "\n"))
	}
	return w.find(ctx, host, served)
}

// find asks the search engine for the word of one file.
func (w *world) find(ctx context.Context, host *process, served store.Snapshot) error {
	view, err := host.store.View(ctx, codebaseID, served.Number)
	if err != nil {
		return fmt.Errorf("view of snapshot %d: %w", served.Number, err)
	}
	permission := search.JudgeFields(host.recipe.Diff(host.recipe), search.ModeText)
	if !permission.Serve {
		return fmt.Errorf("a read under its own recipe is refused: %+v", permission)
	}
	wanted := int(w.hash("find", fmt.Sprint(served.Number)) % versions)
	result, err := host.engine.Search(ctx, view, search.Query{Text: token(wanted), Mode: search.ModeText, Limit: 50})
	if err != nil {
		return fmt.Errorf("search snapshot %d: %w", served.Number, err)
	}
	found := map[string]bool{}
	for _, hit := range result.Hits {
		found[hit.Path] = true
	}
	for name, content := range w.tree.visible() {
		if strings.Contains(content, token(wanted)) && !found[name] {
			return fmt.Errorf("snapshot %d is said to be current and a search for %s does not find it in %s", served.Number, token(wanted), name)
		}
	}
	return nil
}

// visible are the files that belong in an index.
func (t *tree) visible() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	files := maps.Clone(t.files)
	maps.DeleteFunc(files, func(name, _ string) bool {
		return t.unreadable[name] || (t.hidden && path.Ext(name) == ".py")
	})
	return files
}

// scratch is an index made from scratch, without any of the pipeline.
type scratch struct {
	store  *memstore.Store
	digest string
	load   canon.Load
}

// fromScratch makes the index that the tree ought to have now.
func (w *world) fromScratch(ctx context.Context, recipe store.Recipe) (*scratch, error) {
	contents := &gatherer{}
	result, err := scan.New(w.tree.root, scan.Options{Workers: 1, Fault: w.tree.fault}).Scan(ctx, nil, contents)
	if err != nil {
		return nil, err
	}
	root, err := result.Index.Tree()
	if err != nil {
		return nil, err
	}
	key := root.Root().String() + string(recipe.Fingerprint())
	if known := w.scratch[key]; known != nil {
		return known, nil
	}
	entries := slices.Collect(result.Index.Files())
	want := w.tree.visible()
	for _, e := range entries {
		if hashOf(want[e.Path]) != e.Content {
			return nil, fmt.Errorf("the scan has %s as %s", e.Path, e.Content.Short())
		}
	}
	if len(entries) != len(want) {
		return nil, fmt.Errorf("the scan has %d files, the tree %d", len(entries), len(want))
	}
	made, err := index(ctx, recipe, root.Root(), entries, contents.all)
	if err == nil {
		w.scratch[key] = made
	}
	return made, err
}

// index fills an empty store with one snapshot.
func index(ctx context.Context, recipe store.Recipe, root merkle.Hash, entries []store.FileEntry, contents map[merkle.Hash]store.Content) (*scratch, error) {
	s := memstore.New(memstore.Options{})
	if _, err := s.Register(ctx, store.Codebase{ID: codebaseID, Name: "scratch", Root: "/scratch"}); err != nil {
		return nil, err
	}
	_, err := s.Open(ctx, store.Opening{
		Codebase: codebaseID, Number: 1, Recipe: recipe, Root: root, Rebuild: true, At: time.Now(),
		Upserts: entries, Contents: slices.Collect(maps.Values(contents)),
	})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		body := contents[e.Content].Data
		key := store.SyntaxKey{Content: e.Content, Version: recipe.SyntaxVersion(e.Language)}
		syntax := cut(body)
		if err := s.PutSyntax(ctx, []store.SyntaxRecord{{Key: key, Syntax: syntax}}); err != nil {
			return nil, err
		}
		var records []store.VectorRecord
		for _, c := range syntax.Chunks {
			text := store.EmbedText(c.Breadcrumb, body[c.Start:c.End])
			if !strings.Contains(text, "rejected") {
				records = append(records, store.VectorRecord{TextHash: c.TextHash, Vector: store.Quantize(vectorOf(text))})
			}
		}
		if err := s.PutVectors(ctx, recipe.Embedding.Key(), records, []store.SyntaxKey{key}); err != nil {
			return nil, err
		}
	}
	digest, _, err := canon.Export(ctx, s, codebaseID, 1, canon.Options{Recipe: recipe}, nil)
	sealer := apply.New(s, apply.Options{Recipe: recipe, Fallback: cut, Paths: provider{}})
	return &scratch{store: s, digest: digest, load: sealer.Load}, err
}

// difference lists the lines that one of two exports lacks.
func (w *world) difference(ctx context.Context, host *process, served store.Snapshot, truth *scratch) string {
	lines := func(r store.Reader, number uint64) map[string]bool {
		out := map[string]bool{}
		_, _, err := canon.Export(ctx, r, codebaseID, number, canon.Options{Recipe: host.recipe}, func(line string) error {
			out[line] = true
			return nil
		})
		if err != nil {
			out[err.Error()] = true
		}
		return out
	}
	has, ought := lines(host.store.Store, served.Number), lines(truth.store, 1)
	var out []string
	for line := range has {
		if !ought[line] {
			out = append(out, "served:  "+line)
		}
	}
	for line := range ought {
		if !has[line] {
			out = append(out, "scratch: "+line)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// gatherer keeps the contents that a scan reads.
type gatherer struct {
	mu  sync.Mutex // guards all
	all map[merkle.Hash]store.Content
}

func (g *gatherer) Content(_ string, h merkle.Hash, data []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[merkle.Hash]store.Content{}
	}
	g.all[h] = store.Content{Hash: h, Data: data}
	return nil
}

// settle leaves a history undisturbed and wants it to become current, with a log that is
// well, and to stay so.
func (w *world) settle(ctx context.Context) error {
	underWay := w.rest()
	began := time.Now()
	for {
		host, err := w.running(ctx)
		if err != nil {
			return err
		}
		served, current, err := w.read(ctx, host, readWait)
		if err != nil {
			return err
		}
		trouble := ""
		if !current {
			trouble, err = w.trouble(ctx, host)
		} else if trouble, err = w.logTrouble(ctx, host); err == nil && trouble == "" {
			if err := w.compare(ctx, host, served); err != nil {
				return err
			}
			return w.parked(ctx, host)
		}
		if err != nil {
			return err
		}
		if time.Since(began) > w.bound()+underWay {
			return fmt.Errorf("undisturbed for %v, and %s", time.Since(began), trouble)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// bound is within what time the history must become current.
func (w *world) bound() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost {
		return LostBound
	}
	return SettleBound
}

// trouble says what keeps a host from being current.
func (w *world) trouble(ctx context.Context, host *process) (string, error) {
	codebase, err := host.store.Codebase(ctx, codebaseID)
	if err != nil {
		return "", err
	}
	if codebase.Latest == 0 {
		return "no snapshot was opened", nil
	}
	latest, err := host.store.Snapshot(ctx, codebaseID, codebase.Latest)
	if err != nil {
		return "", err
	}
	pending, err := host.store.Pending(ctx, codebaseID, codebase.Latest, host.recipe)
	if err != nil {
		return "", err
	}
	state, err := w.log.State(ctx)
	return fmt.Sprintf("not current: snapshot %d of %d is served, the latest is %v and lacks %d files; the log ends at %d, consumers %+v",
		codebase.Current, codebase.Latest, latest.Level, len(pending), state.Last, state.Consumers), err
}

// logTrouble says what is wrong with the log.
func (w *world) logTrouble(ctx context.Context, host *process) (string, error) {
	known, err := host.store.LogPosition(ctx)
	if err != nil {
		return "", err
	}
	state, err := w.log.State(ctx)
	if err != nil {
		return "", err
	}
	if damage := bus.Damage(known, state); damage != "" {
		return fmt.Sprintf("the log is still damaged: %s (known %+v, last %d)", damage, known, state.Last), nil
	}
	return "", nil
}

// parked wants no file of the tree parked but the poisonous.
func (w *world) parked(ctx context.Context, host *process) error {
	failures, err := host.store.Failures(ctx, codebaseID)
	if err != nil {
		return err
	}
	files := w.tree.visible()
	for _, f := range failures {
		content, ok := files[f.Path]
		if f.Parked && ok && hashOf(content) == f.Content && !strings.Contains(content, "rejected") {
			return fmt.Errorf("%s is parked (%s): %s", f.Path, f.Stage, f.Reason)
		}
	}
	return nil
}

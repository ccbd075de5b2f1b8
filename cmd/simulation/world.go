package simulation

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

// world is what outlives a process: the tree, the store, the log and the provider, with the
// faults that they have. The driver's goroutine owns the fields above mu.
type world struct {
	seed    uint64
	slog    *slog.Logger
	tree    *tree
	store   *memstore.Store
	log     *membus.Bus
	host    *process // nil while none runs
	recipe  int
	arming  bool // the next process crashes as armed says
	armed   Operation
	logs    []membus.Image
	newer   int
	scratch map[string]*scratch

	mu        sync.Mutex // guards what follows
	changed   chan struct{}
	copies    []*memstore.Store // older copies of the store, oldest first
	writes    uint64
	slow      map[string]time.Duration // by consumer, "" for all
	calm      bool
	losing    int
	lost      bool // deliveries were lost, or messages took the places of lost ones
	repeating int
	delivered map[string][]bus.Delivery
	awayUntil time.Time
	nextCall  time.Time
	everyCall time.Duration
	damaged   map[merkle.Hash]error
}

func newWorld(seed uint64, log *slog.Logger) (*world, error) {
	t, err := newTree()
	if err != nil {
		return nil, err
	}
	w := &world{
		seed: seed, slog: log, tree: t, store: memstore.New(memstore.Options{}), log: membus.New(),
		scratch: map[string]*scratch{}, changed: make(chan struct{}), delivered: map[string][]bus.Delivery{},
		damaged: map[merkle.Hash]error{}, slow: map[string]time.Duration{},
	}
	w.logs = []membus.Image{w.log.Image()}
	w.copies = []*memstore.Store{w.store.Clone()}
	return w, nil
}

func (w *world) close() error {
	var err error
	if w.host != nil {
		err = w.host.end()
	}
	return errors.Join(err, w.log.Close(), w.tree.close())
}

// hash is a number that the seed gives to words, in every run the same.
func (w *world) hash(words ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed)
	for _, word := range words {
		fmt.Fprintf(h, "\x00%s", word)
	}
	// The low bits of FNV are poor: mix them.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// longestPace is the longest that pace takes, but for what an operation adds.
const longestPace = 10 * time.Second

// pace takes as long as the seed says that something takes. No two things end at the same
// moment, so that virtual time puts them into one order.
func (w *world) pace(ctx context.Context, what string) error {
	w.mu.Lock()
	consumer, _, _ := strings.Cut(what, " ")
	slow, calm := max(w.slow[""], w.slow[consumer]), w.calm
	w.mu.Unlock()
	x := w.hash(what)
	longest := slow + 5*time.Millisecond
	switch p := x % 100; {
	case calm:
		longest = 2 * time.Millisecond
	case p < 1:
		longest += longestPace
	case p < 6:
		longest += time.Second
	case p < 30:
		longest += 100 * time.Millisecond
	}
	return bus.Pause(ctx, time.Duration(x>>16%uint64(longest))+1)
}

// notify wakes those who wait for a seal or a crash.
func (w *world) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) awaitChange() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// maxCopies is how many copies of the store are kept.
const maxCopies = 60

// wrote copies the store after some of its writes.
func (w *world) wrote(s *memstore.Store) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if w.calm || w.hash("copy", fmt.Sprint(w.writes))%2 != 0 {
		return
	}
	w.copies = append(w.copies, s.Clone())
	if len(w.copies) > maxCopies {
		w.copies = w.copies[1:]
	}
}

// damage is what is wrong with the row of a content.
func (w *world) damage(h merkle.Hash) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.damaged[h]
}

// mend makes rows whole that were written again.
func (w *world) mend(contents []store.Content) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range contents {
		delete(w.damaged, c.Hash)
	}
}

// discarded has damaged rows be gone.
func (w *world) discarded(contents []merkle.Hash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range contents {
		delete(w.damaged, h) // the store has dropped it itself
	}
}

// rest ends every fault but for what is damaged, and returns for how long a delivery that
// is in hand may still take.
func (w *world) rest() time.Duration {
	w.tree.unlock()
	if w.host != nil {
		w.host.suspend(0)
		w.host.arm(-1, false)
	}
	w.arming = false
	w.mu.Lock()
	defer w.mu.Unlock()
	underWay := longestPace
	for _, d := range w.slow {
		underWay = max(underWay, longestPace+d)
	}
	if w.calm {
		underWay = 0
	}
	w.calm, w.losing, w.repeating = true, 0, 0
	clear(w.slow)
	w.awayUntil, w.nextCall, w.everyCall = time.Time{}, time.Time{}, 0
	return underWay
}

// running returns the host, started when none runs.
func (w *world) running(ctx context.Context) (*process, error) {
	for w.host == nil || w.host.dead() {
		if w.host != nil {
			if err := w.host.end(); err != nil {
				return nil, fmt.Errorf("the host ended: %w", err)
			}
			w.host = nil
		}
		n, after := -1, false
		if w.arming {
			n, after, w.arming = w.armed.N/2, w.armed.N%2 == 1, false
		}
		p, err := w.newProcess(ctx, w.store, n, after)
		if errors.Is(err, errCrashed) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		w.host = p
	}
	return w.host, nil
}

// kill ends the host wherever it is.
func (w *world) kill() error {
	if w.host == nil {
		return nil
	}
	err := w.host.end()
	w.host = nil
	return err
}

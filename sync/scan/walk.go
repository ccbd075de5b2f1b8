package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/ignore"
	"github.com/freshet/freshet/sync/merkle"
)

// Scan compares the disk with prior, what an earlier scan or LoadIndex returned, and
// returns the next index with the differences. Contents that prior does not have at their
// path go to sink, which may be nil. Neither prior nor the store is changed, so that a
// caller that could not commit the result scans again from prior.
//
// What was written before Scan was called is in the result; what is written meanwhile may
// or may not be. A root that is gone, empty, replaced or unreadable is an error
// (ErrRootVanished and its kin) and never a tree without files.
func (s *Scanner) Scan(ctx context.Context, prior *Index, sink Sink) (Result, error) {
	return s.ScanPart(ctx, prior, Part{}, sink)
}

// Part says what of a tree a scan looks at, and who follows it from there. The zero Part
// is the whole tree.
type Part struct {
	// Dirty are the paths at which the disk may differ from the index; nil is the whole
	// tree. What is not in it is taken over from the index unseen.
	Dirty *Dirty
	// Follower may be nil.
	Follower Follower
}

// Follower is told what a scan meets, so that it can hear of what changes later. It is
// called from several goroutines.
type Follower interface {
	// Enter is called with an open directory before anything is asked of it: what changes
	// before Enter returns, the scan sees.
	Enter(path string, fd int)
	// Linked is called with a regular file that has further names, here or elsewhere,
	// through which it may be written.
	Linked(path string)
}

// ScanPart is Scan of a part of the tree, which looks at no more than it must to find
// what changed in that part, and nothing at all when the part is empty but the root and
// the exclude file. It scans the whole tree when prior is nil or was loaded, or when the
// exclude file changed.
func (s *Scanner) ScanPart(ctx context.Context, prior *Index, part Part, sink Sink) (Result, error) {
	now := s.clock()
	root, stat, err := s.enterRoot()
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = unix.Close(root) }()
	identity := store.RootIdentity{Device: stat.Device, Inode: stat.Inode}
	if s.opts.Identity != (store.RootIdentity{}) && s.opts.Identity != identity {
		return Result{}, fmt.Errorf("%w: %s", ErrRootReplaced, merkle.QuotePath(s.root))
	}
	if prior == nil {
		prior = &Index{}
	}
	w := &walk{scanner: s, root: root, clock: now, sink: sink, follower: part.Follower}
	w.ready = sync.NewCond(&w.mu)
	next := &Index{known: true}
	first := &visit{prior: prior.root}
	first.changed = s.readExclude(root, now, prior, next)
	first.rules = next.rules
	workers := s.workers(prior)
	if part.Dirty != nil && !part.Dirty.Whole() && prior.known && !first.changed {
		first.part = &part.Dirty.root
		workers = min(workers, 1+part.Dirty.marks/marksPerWorker)
	}
	if first.part != nil && part.Dirty.Empty() {
		first.carryOver()
		workers = 0
	}
	summary, err := w.run(ctx, first, workers)
	if err != nil {
		return Result{}, fmt.Errorf("scan %s: %w", merkle.QuotePath(s.root), err)
	}
	if first.gone {
		return Result{}, fmt.Errorf("%w: %s", ErrRootVanished, merkle.QuotePath(s.root))
	}
	r := Result{}
	next.root = first.finish(&r)
	r.Index = next
	if *next == *prior {
		r.Index = prior
	}
	recordExclude(&r, prior.exclude, next.exclude)
	r.sort()
	r.Summary = next.Summary()
	r.Summary.work(summary)
	return r, nil
}

// walk is one scan: directories that wait to be visited, and the workers that visit them.
type walk struct {
	scanner *Scanner
	root    int
	clock   clock
	sink    Sink

	follower Follower

	mu      sync.Mutex // guards what follows
	ready   *sync.Cond // signalled when waiting, open or err changes
	waiting []*visit
	open    int // visits that are waiting or under way
	err     error
}

// visit is the work on one directory. One worker owns it until it is done; then it belongs
// to the goroutine that assembles the index.
type visit struct {
	path    string
	prior   *node         // nil when the directory is new
	rules   *ignore.Rules // in force above it
	changed bool          // rules above it differ from those by which prior was decided
	part    *scope        // what is looked at of it; nil is everything

	next     *node    // what the directory is now, without the visits below
	below    []*visit // directories to be visited, sorted by path
	gone     bool
	moved    bool // something vanished: list it again next time
	kept     bool // it cannot be entered: what is known stays
	relisted bool

	delta Result // the differences found here
}

// marksPerWorker is how many dirty paths are worth a goroutine.
const marksPerWorker = 64

// carryOver makes the visit one that found the directory and all below it as it was.
func (v *visit) carryOver() {
	v.next = &node{entry: v.prior.entry, files: v.prior.files, dirs: v.prior.dirs, rules: v.prior.rules}
}

// run visits the tree below first and returns the counts of the work.
func (w *walk) run(ctx context.Context, first *visit, workers int) (Summary, error) {
	w.waiting, w.open = []*visit{first}, 1
	stop := context.AfterFunc(ctx, func() { w.fail(ctx.Err()) })
	defer stop()
	counts := make([]Summary, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			k := &worker{walk: w, ctx: ctx, names: make([]byte, 32<<10)}
			for v := w.take(); v != nil; v = w.take() {
				err := k.visit(v)
				w.done(v, err)
			}
			counts[i] = k.counts
		})
	}
	group.Wait()
	var sum Summary
	for _, c := range counts {
		sum.work(c)
	}
	w.mu.Lock() // a context that ends now still calls fail
	defer w.mu.Unlock()
	return sum, w.err
}

// take returns the next directory to visit, or nil when there is none and will be none.
// The last one put is taken first, so that few directories wait.
func (w *walk) take() *visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) == 0 && w.open > 0 && w.err == nil {
		w.ready.Wait()
	}
	if w.err != nil || len(w.waiting) == 0 {
		return nil
	}
	last := len(w.waiting) - 1
	v := w.waiting[last]
	w.waiting = w.waiting[:last]
	return v
}

// done takes note of a visit and puts the directories below it.
func (w *walk) done(v *visit, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.open += len(v.below) - 1
	w.waiting = append(w.waiting, v.below...)
	if w.open == 0 || w.err != nil || len(v.below) > 1 {
		w.ready.Broadcast()
	}
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.ready.Broadcast()
}

// work adds what a scan did.
func (s *Summary) work(c Summary) {
	s.Listed += c.Listed
	s.Stated += c.Stated
	s.Linked += c.Linked
	s.Read += c.Read
	s.HashedBytes += c.HashedBytes
	s.DigestedBytes += c.DigestedBytes
	s.Vanished += c.Vanished
}

// sort orders the differences by path and takes paths out of StatRemoves that are there
// again as another kind.
func (r *Result) sort() {
	slices.SortFunc(r.Changed, func(a, b LeafChange) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(r.Stats, func(a, b store.StatEntry) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(r.Kept, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(r.StatRemoves)
	r.StatRemoves = slices.DeleteFunc(slices.Compact(r.StatRemoves), func(path string) bool {
		_, again := slices.BinarySearchFunc(r.Stats, path, func(e store.StatEntry, path string) int {
			return strings.Compare(e.Path, path)
		})
		return again
	})
}

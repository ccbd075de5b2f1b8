package merklesync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// maxSteady is how often a tree that moves under a scan is scanned again.
const maxSteady = 5

// scanSteady scans until no path vanished under the scan, so that half of a checkout is
// not taken for a tree. A tree that never rests is taken as it is: whatever moved is
// looked at again by the next check. With whole nothing is left out because of a watcher.
func (s *Synchronizer) scanSteady(ctx context.Context, whole bool) (scan.Summary, error) {
	for tries := 1; ; tries++ {
		summary, err := s.scan(ctx, whole && tries == 1)
		if err != nil || (summary.Vanished == 0 && !s.watching.again) || tries == maxSteady {
			return summary, err
		}
	}
}

// scan brings the observed tree up to the disk: new contents first, then the stat entries
// that vouch for them, so that a crash between the two only reads the files again.
func (s *Synchronizer) scan(ctx context.Context, whole bool) (_ scan.Summary, err error) {
	st := &s.state
	defer func() {
		if err != nil {
			s.watching.doubt() // what was heard of has not been taken over
		}
	}()
	sink := &contentSink{ctx: ctx, store: s.store}
	result, err := s.look(ctx, sink, whole)
	if errors.Is(err, scan.ErrRootReplaced) {
		// Another directory at the same path is reconciled like any other change: its files
		// have other inodes, so each is read.
		if err = s.adopt(ctx); err == nil {
			result, err = s.look(ctx, sink, true)
		}
	}
	if err != nil {
		return scan.Summary{}, err
	}
	if err := sink.flush(); err != nil {
		return scan.Summary{}, err
	}
	observed, err := st.observed.Edit(result.Edits())
	if err != nil {
		return scan.Summary{}, fmt.Errorf("edit tree: %w", err)
	}
	removes := append(leftover(st.stale, result.Stats), result.StatRemoves...)
	if len(result.Stats) > 0 || len(removes) > 0 {
		if err := s.store.PutStats(ctx, s.id, result.Stats, removes); err != nil {
			return scan.Summary{}, fmt.Errorf("store stats: %w", err)
		}
	}
	st.kept = nil
	for _, kept := range result.Kept {
		if e, ok := result.Index.Lookup(kept.Path); ok && (e.LeftOut == "" || kept.Reason == store.LeftOutUnstable) {
			st.kept = append(st.kept, kept.Path)
		}
		s.opts.Log.Info("path kept as last known", "path", merkle.QuotePath(kept.Path), "reason", kept.Reason, "error", kept.Err)
	}
	st.index, st.observed, st.stale = result.Index, observed, nil
	if s.opts.Observer != nil {
		s.opts.Observer.Scanned(s.id, result.Summary, len(result.Changed))
	}
	return result.Summary, nil
}

// look scans what the watcher cannot vouch for, which without one is the whole tree.
func (s *Synchronizer) look(ctx context.Context, sink scan.Sink, whole bool) (scan.Result, error) {
	pass := s.watching.begin(ctx, s.state.codebase.Root, whole)
	result, err := s.state.scanner.ScanPart(ctx, s.state.index, pass.part, sink)
	if err == nil {
		s.watching.end(pass, &result)
	}
	return result, err
}

// leftover returns the paths that have no entry any more.
func leftover(paths []string, entries []store.StatEntry) []string {
	if len(paths) == 0 {
		return nil
	}
	has := make(map[string]bool, len(entries))
	for _, e := range entries {
		has[e.Path] = true
	}
	return slices.DeleteFunc(paths, func(path string) bool { return has[path] })
}

// adopt takes the directory that now stands at the root for the codebase's.
func (s *Synchronizer) adopt(ctx context.Context) error {
	identity, err := scan.Identity(s.state.codebase.Root)
	if err != nil {
		return err
	}
	if err := s.store.SetIdentity(ctx, s.id, identity); err != nil {
		return fmt.Errorf("set identity: %w", err)
	}
	s.opts.Log.Warn("another directory stands at the root; reconciling", "codebase", s.id)
	s.state.codebase.Identity = identity
	s.watching.renew()
	s.state.scanner = s.scanner(s.state.codebase)
	if s.opts.OnReplaced != nil {
		s.opts.OnReplaced()
	}
	return nil
}

func (s *Synchronizer) scanner(c store.Codebase) *scan.Scanner {
	options := s.opts.Scan
	options.Identity = c.Identity
	return scan.New(c.Root, options)
}

// sinkBytes is how much a sink gathers before it writes to the store.
const sinkBytes = 16 << 20

// contentSink stores the contents that a scan reads, in batches, less those that the store
// has. It may be called from several goroutines.
type contentSink struct {
	ctx   context.Context //nolint:containedctx // of the one scan that the sink serves
	store store.Store

	mu    sync.Mutex // guards batch, size
	batch []store.Content
	size  int
}

// Content takes one content.
func (k *contentSink) Content(_ string, hash merkle.Hash, data []byte) error {
	k.mu.Lock()
	k.batch = append(k.batch, store.Content{Hash: hash, Data: data})
	k.size += len(data)
	var full []store.Content
	if k.size >= sinkBytes {
		full, k.batch, k.size = k.batch, nil, 0
	}
	k.mu.Unlock()
	return k.put(full)
}

func (k *contentSink) flush() error {
	k.mu.Lock()
	rest := k.batch
	k.batch, k.size = nil, 0
	k.mu.Unlock()
	return k.put(rest)
}

func (k *contentSink) put(contents []store.Content) error {
	if len(contents) == 0 {
		return nil
	}
	hashes := make([]merkle.Hash, len(contents))
	for i, c := range contents {
		hashes[i] = c.Hash
	}
	have, err := k.store.HasContents(k.ctx, hashes)
	if err != nil {
		return fmt.Errorf("look up contents: %w", err)
	}
	missing := contents[:0]
	for _, c := range contents {
		if !have[c.Hash] {
			missing = append(missing, c)
		}
	}
	if err := k.store.PutContents(k.ctx, missing); err != nil {
		return fmt.Errorf("store contents: %w", err)
	}
	return nil
}

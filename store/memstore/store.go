package memstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

var _ store.Store = (*Store)(nil)

// Options are what a Store may be given. The zero value works.
type Options struct {
	Now   func() time.Time // nil means time.Now
	Epoch string           // "" means a random one
}

// Store is a store.Store in memory. It may be used from several goroutines.
type Store struct {
	now   func() time.Time
	epoch string

	mu        sync.RWMutex // guards everything below
	closed    bool
	codebases map[store.CodebaseID]*codebase
	recipes   map[store.Fingerprint]store.Recipe
	contents  map[merkle.Hash]content
	syntaxes  map[store.SyntaxKey]store.Syntax
	vectors   map[vectorKey]store.Vector
	embedded  map[embeddedKey]bool
	segments  map[store.SegmentID]*segment
	// lastSegment is the newest id given out.
	lastSegment store.SegmentID
	outbox      []store.OutboxEvent
	position    store.LogPosition
	sessions    map[string]store.Session
	leases      map[string]store.Lease
}

type codebase struct {
	store.Codebase
	snapshots map[uint64]*snapshot
	stats     map[string]store.StatEntry
	failures  map[failureKey]store.Failure
}

// snapshot holds its whole manifest, and its delta as it was when it was opened.
type snapshot struct {
	store.Snapshot
	files    map[string]file
	upserted []store.FileEntry
	removed  []string
	segments []store.SegmentID
}

// file is an entry with the number of the snapshot that brought it.
type file struct {
	store.FileEntry
	began uint64
}

type content struct {
	data []byte
	at   time.Time
}

type vectorKey struct {
	embedding string
	text      merkle.Hash
}

type embeddedKey struct {
	embedding string
	key       store.SyntaxKey
}

type failureKey struct {
	path    string
	content merkle.Hash
	stage   store.Stage
	version string
}

type segment struct {
	ref  store.SegmentRef
	data []byte
	at   time.Time
	// dead maps a file ordinal to the first snapshot that does not have it any more.
	dead map[uint32]uint64
}

// New returns an empty store.
func New(opts Options) *Store {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Epoch == "" {
		opts.Epoch = rand.Text()
	}
	return &Store{
		now:       opts.Now,
		epoch:     opts.Epoch,
		codebases: map[store.CodebaseID]*codebase{},
		recipes:   map[store.Fingerprint]store.Recipe{},
		contents:  map[merkle.Hash]content{},
		syntaxes:  map[store.SyntaxKey]store.Syntax{},
		vectors:   map[vectorKey]store.Vector{},
		embedded:  map[embeddedKey]bool{},
		segments:  map[store.SegmentID]*segment{},
		sessions:  map[string]store.Session{},
		leases:    map[string]store.Lease{},
	}
}

// Epoch is a random word made with the store.
func (s *Store) Epoch() string { return s.epoch }

// Close forgets nothing, but every later call returns store.ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Check compares every content with its hash.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, func() error {
		for h, c := range s.contents {
			if merkle.Hash(sum(c.data)) != h {
				return fmt.Errorf("check content %s: %w", h.Short(), store.ErrCorrupt)
			}
		}
		return nil
	})
}

func (s *Store) read(ctx context.Context, fn func() error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	return fn()
}

func (s *Store) write(ctx context.Context, fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	err := rules.CheckFence(ctx, func(name string) (store.Lease, error) { return s.leases[name], nil })
	if err != nil {
		return err
	}
	return fn()
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

func (s *Store) codebase(id store.CodebaseID) (*codebase, error) {
	c, ok := s.codebases[id]
	if !ok {
		return nil, fmt.Errorf("codebase %s: %w", id, store.ErrNotFound)
	}
	return c, nil
}

func (s *Store) snapshot(id store.CodebaseID, number uint64) (*codebase, *snapshot, error) {
	c, err := s.codebase(id)
	if err != nil {
		return nil, nil, err
	}
	n, ok := c.snapshots[number]
	if !ok {
		return nil, nil, fmt.Errorf("snapshot %d of codebase %s: %w", number, id, store.ErrNotFound)
	}
	return c, n, nil
}

func sum(data []byte) [32]byte { return sha256.Sum256(data) }

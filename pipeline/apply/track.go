package apply

import (
	"sync"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// track is the work that the newest snapshot of a codebase still lacks: what the store
// said, less what events said since. It may be forgotten at any time.
type track struct {
	sealing sync.Mutex // held while the codebase is sealed

	mu        sync.Mutex // guards what follows
	number    uint64
	remaining map[string]merkle.Hash // by path; nil when it is not known
	// hinted are the files that events said are done since the store was read, by path.
	hinted map[string]merkle.Hash
	pace   pace
	// unmerged are segments that Compact gave up merging, with the dead files they had then.
	unmerged map[store.SegmentID]int
}

// settle has Compact leave segments alone until more of their files are dead.
func (t *track) settle(refs []store.SegmentRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unmerged == nil {
		t.unmerged = map[store.SegmentID]int{}
	}
	for _, ref := range refs {
		t.unmerged[ref.ID] = len(ref.Dead)
	}
}

// settled reports whether Compact leaves a segment alone.
func (t *track) settled(ref store.SegmentRef) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	dead, ok := t.unmerged[ref.ID]
	return ok && dead == len(ref.Dead)
}

// track returns the track of a codebase.
func (s *Sealer) track(id store.CodebaseID) *track {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tracks[id]
	if t == nil {
		t = &track{}
		s.tracks[id] = t
	}
	return t
}

// Forget drops what the sealer knows of snapshots on their way, because another process has
// sealed meanwhile: the store knows better.
func (s *Sealer) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tracks {
		t.forget()
	}
}

func (t *track) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remaining, t.hinted = nil, nil
}

// cross takes finished files from what a snapshot lacks, which is read from the store when
// it is not known, and returns how many are left.
func (t *track) cross(number uint64, finished []event.File, read func() (map[string]merkle.Hash, error)) (left int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.remaining == nil || t.number != number {
		t.hinted = nil
		if t.remaining, err = read(); err != nil {
			t.remaining = nil
			return 0, err
		}
		t.number = number
	}
	for _, f := range finished {
		path, err := merkle.UnquotePath(f.Path)
		if err != nil {
			return 0, &bus.Drop{Err: err}
		}
		if content, ok := t.remaining[path]; ok && content == f.Content {
			delete(t.remaining, path)
			if t.hinted == nil {
				t.hinted = map[string]merkle.Hash{}
			}
			t.hinted[path] = content
		}
	}
	return len(t.remaining), nil
}

// confirmed reports whether the store itself said that a snapshot lacks nothing: no event was
// believed for it, and nobody who tried to seal it found rows lost that the store had said
// are there, and dropped them.
func (t *track) confirmed(number uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remaining != nil && t.number == number && len(t.remaining) == 0 && len(t.hinted) == 0
}

// correct replaces what is known by a new reading of the store, and returns the paths that
// events said are done and that the store still lacks.
func (t *track) correct(number uint64, remaining map[string]merkle.Hash) (wrong map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wrong = map[string]bool{}
	for path, content := range t.hinted {
		if remaining[path] == content {
			wrong[path] = true
		}
	}
	t.number, t.remaining, t.hinted = number, remaining, nil
	return wrong
}

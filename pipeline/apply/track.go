package apply

import (
	"sync"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// track is the work that the newest snapshot of a codebase still lacks. It is a memory of
// what the store says, and may be forgotten at any time.
type track struct {
	sealing sync.Mutex // held while the codebase is sealed

	mu        sync.Mutex // guards what follows
	number    uint64
	remaining map[string]merkle.Hash // by path; nil when it is not known
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
	t.remaining = nil
}

// cross takes finished files from what a snapshot lacks, which is asked for when it is not
// known, and returns how many are left, and whether it was asked for just now.
func (t *track) cross(number uint64, finished []event.File, ask func() (map[string]merkle.Hash, error)) (left int, asked bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked = t.remaining == nil || t.number != number; asked {
		if t.remaining, err = ask(); err != nil {
			t.remaining = nil
			return 0, asked, err
		}
		t.number = number
	}
	for _, f := range finished {
		path, err := merkle.UnquotePath(f.Path)
		if err != nil {
			return 0, asked, &bus.Drop{Err: err}
		}
		if t.remaining[path] == f.Content {
			delete(t.remaining, path)
		}
	}
	return len(t.remaining), asked, nil
}

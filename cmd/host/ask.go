package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"

	merklesync "github.com/freshet/freshet/sync"
)

// ask is what is asked of who sees a tree.
type ask string

const (
	askCheck   ask = "check"
	askRebuild ask = "rebuild"
	askCompare ask = "compare"
	askLive    ask = "live"
)

// question is a request to who sees a tree. Paths are quoted by merkle.QuotePath.
type question struct {
	Ask     ask         `json:"ask"`
	Path    string      `json:"path,omitempty"`
	Content merkle.Hash `json:"content"`
}

// told is the answer to a question: what was seen, or why nothing was.
type told struct {
	Fault *tool.Error `json:"fault,omitempty"`

	Observation *observation   `json:"observation,omitempty"`
	State       tool.DiskState `json:"state,omitempty"`
	File        *tool.LiveFile `json:"file,omitempty"`
}

// observation is a merklesync.Observation on its way.
type observation struct {
	merklesync.Observation
	Changes []string `json:"changes"`    // quoted
	Kept    []string `json:"kept_paths"` // quoted
}

// answerer answers what others ask of a codebase that this process synchronizes.
type answerer struct {
	host *Host
	id   store.CodebaseID
	sync *merklesync.Synchronizer
}

func (a answerer) answer(ctx context.Context, request []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	var t told
	err := a.tell(ctx, q, &t)
	var known *tool.Error
	if errors.As(err, &known) {
		t.Fault, err = known, nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

func (a answerer) tell(ctx context.Context, q question, t *told) error {
	switch q.Ask {
	case askCheck:
		return a.observe(ctx, a.sync.Check, t)
	case askRebuild:
		return a.observe(ctx, a.sync.Rebuild, t)
	}
	path, err := merkle.UnquotePath(q.Path)
	if err != nil {
		return err
	}
	codebase, err := a.host.reads.Codebase(ctx, a.id)
	if err != nil {
		return err
	}
	switch q.Ask {
	case askCompare:
		t.State, err = disk{a.host}.Compare(ctx, codebase, path, q.Content)
		return err
	case askLive:
		file, err := disk{a.host}.Live(ctx, codebase, path)
		t.File = &file
		return err
	}
	return fmt.Errorf("nobody here knows how to %s", q.Ask)
}

func (a answerer) observe(ctx context.Context, look func(context.Context) (merklesync.Observation, error), t *told) error {
	seen, err := look(ctx)
	if err != nil {
		return advice.RootCode(a.id, err)
	}
	o := observation{Observation: seen}
	o.Observation.Changes, o.Observation.Kept = nil, nil // may hold bytes that JSON does not
	for _, path := range seen.Changes {
		o.Changes = append(o.Changes, merkle.QuotePath(path))
	}
	for _, path := range seen.Kept {
		o.Kept = append(o.Kept, merkle.QuotePath(path))
	}
	t.Observation = &o
	return nil
}

// put asks who synchronizes a codebase.
func (h *Host) put(ctx context.Context, id store.CodebaseID, q question) (told, error) {
	request, err := json.Marshal(q)
	if err != nil {
		return told{}, err
	}
	data, err := h.bus.Ask(ctx, id, request)
	if err != nil {
		return told{}, err
	}
	var t told
	if err := json.Unmarshal(data, &t); err != nil {
		return told{}, fmt.Errorf("answer of who synchronizes %s: %w", id, err)
	}
	if t.Fault != nil {
		return told{}, t.Fault
	}
	return t, nil
}

// ask has another process look at the tree.
func (t *tenant) ask(ctx context.Context, what ask) (merklesync.Observation, error) {
	answer, err := t.host.put(ctx, t.id, question{Ask: what})
	if err != nil {
		return merklesync.Observation{}, err
	}
	if answer.Observation == nil {
		return merklesync.Observation{}, fmt.Errorf("answer of who synchronizes %s: no observation", t.id)
	}
	seen := answer.Observation.Observation
	seen.Changes = nil
	for _, quoted := range answer.Observation.Changes {
		path, err := merkle.UnquotePath(quoted)
		if err != nil {
			return merklesync.Observation{}, err
		}
		seen.Changes = append(seen.Changes, path)
	}
	seen.Kept = nil
	for _, quoted := range answer.Observation.Kept {
		path, err := merkle.UnquotePath(quoted)
		if err != nil {
			return merklesync.Observation{}, err
		}
		seen.Kept = append(seen.Kept, path)
	}
	return seen, nil
}

// diskWait is how long who sees a tree may take to look at one file, and silenceLasts how
// long who did not answer in that time is asked no further.
const (
	diskWait     = 2 * time.Second
	silenceLasts = 10 * time.Second
)

// putSoon asks about one file. After a silence it does not ask again for a while: an answer
// has many files.
func (h *Host) putSoon(ctx context.Context, id store.CodebaseID, q question) (told, error) {
	h.mu.Lock()
	since := h.silent[id]
	h.mu.Unlock()
	if time.Since(since) < silenceLasts {
		return told{}, fmt.Errorf("%w a moment ago", natsbus.ErrNoAnswer)
	}
	asking, cancel := context.WithTimeout(ctx, diskWait)
	defer cancel()
	answer, err := h.put(asking, id, q)
	if errors.Is(err, natsbus.ErrNoAnswer) && ctx.Err() == nil {
		h.mu.Lock()
		h.silent[id] = time.Now()
		h.mu.Unlock()
	}
	return answer, err
}

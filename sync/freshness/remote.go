package freshness

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/merkle"
)

// Peers carries questions between processes that share an event log: Serve answers those
// about a codebase until ctx ends, Ask has one answered by whoever serves the codebase and
// returns bus.ErrNoAnswer when nobody does.
type Peers interface {
	Serve(ctx context.Context, id store.CodebaseID, answer func(ctx context.Context, request []byte) ([]byte, error)) error
	Ask(ctx context.Context, id store.CodebaseID, request []byte) ([]byte, error)
}

// ask is what is asked of who synchronizes a codebase.
type ask string

const (
	askCheck   ask = "check"
	askRebuild ask = "rebuild"
)

// question is a request to who synchronizes a codebase. Questions of another kind have more
// fields, and are for Sharing.Files.
type question struct {
	Ask ask `json:"ask"`
}

// told is the answer to a question: what was seen, or why nothing was.
type told struct {
	Fault       json.RawMessage `json:"fault,omitempty"`
	Observation *observation    `json:"observation,omitempty"`
}

// observation is a merklesync.Observation on its way. Paths are quoted by merkle.QuotePath:
// they may hold bytes that JSON does not.
type observation struct {
	merklesync.Observation
	Changes []string `json:"changes"`
	Kept    []string `json:"kept_paths"`
}

// answer answers what another process asks of a codebase that this one synchronizes.
func (l *leased) answer(ctx context.Context, s *merklesync.Synchronizer, request []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	look := s.Check
	switch q.Ask {
	case askCheck:
	case askRebuild:
		look = s.Rebuild
	default:
		return l.Files(ctx, l.id, request)
	}
	seen, err := look(ctx)
	if err == nil {
		return json.Marshal(told{Observation: quoted(seen)})
	}
	if fault := l.EncodeFault(l.id, err); fault != nil {
		return json.Marshal(told{Fault: fault})
	}
	return nil, err
}

// ask has another process look at the tree.
func (l *leased) ask(ctx context.Context, what ask) (merklesync.Observation, error) {
	var none merklesync.Observation
	request, err := json.Marshal(question{Ask: what})
	if err != nil {
		return none, err
	}
	data, err := l.Peers.Ask(ctx, l.id, request)
	if err != nil {
		return none, err
	}
	var t told
	if err := json.Unmarshal(data, &t); err != nil {
		return none, fmt.Errorf("answer of who synchronizes %s: %w", l.id, err)
	}
	switch {
	case t.Fault != nil:
		return none, l.DecodeFault(t.Fault)
	case t.Observation == nil:
		return none, fmt.Errorf("answer of who synchronizes %s: no observation", l.id)
	}
	return t.Observation.unquoted()
}

// quoted gives an observation the form in which it travels.
func quoted(seen merklesync.Observation) *observation {
	o := observation{Observation: seen}
	o.Observation.Changes, o.Observation.Kept = nil, nil
	for _, path := range seen.Changes {
		o.Changes = append(o.Changes, merkle.QuotePath(path))
	}
	for _, path := range seen.Kept {
		o.Kept = append(o.Kept, merkle.QuotePath(path))
	}
	return &o
}

// unquoted is the observation that travelled.
func (o *observation) unquoted() (merklesync.Observation, error) {
	seen := o.Observation
	seen.Changes, seen.Kept = nil, nil
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{o.Changes, &seen.Changes}, {o.Kept, &seen.Kept}} {
		for _, text := range list.from {
			path, err := merkle.UnquotePath(text)
			if err != nil {
				return merklesync.Observation{}, err
			}
			*list.to = append(*list.to, path)
		}
	}
	return seen, nil
}

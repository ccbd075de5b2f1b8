package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// The questions about one file.
const (
	askCompare = "compare"
	askLive    = "live"
)

// question is a request about one file to who synchronizes its codebase. The path is quoted
// by merkle.QuotePath.
type question struct {
	Ask     string      `json:"ask"`
	Path    string      `json:"path,omitempty"`
	Content merkle.Hash `json:"content"`
}

// told is the answer to a question: what was seen, or why nothing was.
type told struct {
	Fault *tool.Error    `json:"fault,omitempty"`
	State tool.DiskState `json:"state,omitempty"`
	File  *tool.LiveFile `json:"file,omitempty"`
}

// answerWait is how long who sees a tree may take to look at one file, and silenceLasts how
// long who did not answer in that time is asked no further.
const (
	answerWait   = 2 * time.Second
	silenceLasts = 10 * time.Second
)

// ask has another process look at a file. After a silence it does not ask again for a while:
// an answer has many files.
func (f *Files) ask(ctx context.Context, id store.CodebaseID, q question) (told, error) {
	f.mu.Lock()
	since := f.silent[id]
	f.mu.Unlock()
	if time.Since(since) < silenceLasts {
		return told{}, fmt.Errorf("%w a moment ago", bus.ErrNoAnswer)
	}
	asking, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	t, err := f.put(asking, id, q)
	if errors.Is(err, bus.ErrNoAnswer) && ctx.Err() == nil {
		f.mu.Lock()
		f.silent[id] = time.Now()
		f.mu.Unlock()
	}
	return t, err
}

// put sends a question and reads its answer.
func (f *Files) put(ctx context.Context, id store.CodebaseID, q question) (told, error) {
	request, err := json.Marshal(q)
	if err != nil {
		return told{}, err
	}
	data, err := f.opts.Ask(ctx, id, request)
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

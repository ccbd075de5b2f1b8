package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Answer answers a question that another process asks about a file of this one's.
func (f *Files) Answer(ctx context.Context, id store.CodebaseID, request []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	path, err := merkle.UnquotePath(q.Path)
	if err != nil {
		return nil, err
	}
	codebase, err := f.opts.Codebase(ctx, id)
	if err != nil {
		return nil, err
	}
	var t told
	switch q.Ask {
	case askCompare:
		t.State, err = f.Compare(ctx, codebase, path, q.Content)
	case askLive:
		var file tool.LiveFile
		file, err = f.Live(ctx, codebase, path)
		t.File = &file
	default:
		err = fmt.Errorf("nobody here knows how to %s", q.Ask)
	}
	var known *tool.Error
	if errors.As(err, &known) {
		t.Fault, err = known, nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

package verify

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Replay rebuilds from the live log or from a recorded file in an empty store.
func (w *Verifier) Replay(ctx context.Context, r tool.Replaying) (digests []tool.CodebaseDigest, err error) {
	source, err := w.source(ctx, r)
	if err != nil {
		return nil, err
	}
	steps, err := history.Fold(source.Events)
	if err != nil {
		return nil, tool.Errorf(tool.CodeInvalidArgument, "%w; record again, or widen the range", err)
	}
	if len(steps) == 0 {
		return nil, tool.Errorf(tool.CodeNotIndexed, "there is no snapshot to replay; index a directory first")
	}
	beside, err := w.Scratch(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a store for the replay: %w", err)
	}
	defer func() { err = errors.Join(err, beside.Close()) }()
	done, err := history.Replay(ctx, beside.Target(), steps, source.content)
	if err != nil {
		return nil, err
	}
	names := map[store.CodebaseID]string{}
	codebases, err := w.Store.Codebases(ctx)
	if err != nil {
		return nil, err
	}
	for _, known := range codebases {
		names[known.ID] = known.Name
	}
	for _, d := range done {
		digests = append(digests, tool.CodebaseDigest{
			Codebase: d.Codebase, Name: names[d.Codebase], Snapshot: d.Snapshot, Files: d.Files, Digest: d.Digest,
		})
	}
	return digests, nil
}

// replaySource is what a replay reads.
type replaySource struct {
	history.History
	store store.Reader // contents of the live log; nil for a file
}

func (w *Verifier) source(ctx context.Context, r tool.Replaying) (replaySource, error) {
	if r.File == "" {
		events, err := w.Log.Read(ctx, r.From, r.To)
		if err != nil {
			return replaySource{}, err
		}
		events, err = history.Complete(ctx, w.Store, w.Recipe, events, r.From > 1 || r.To > 0)
		return replaySource{history.History{Events: events}, w.Store}, err
	}
	file, err := os.Open(r.File)
	if err != nil {
		return replaySource{}, tool.Errorf(tool.CodePathNotFound, "open history: %w", err)
	}
	h, err := history.Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return replaySource{}, tool.Errorf(tool.CodeInvalidArgument, "%s: %w", merkle.QuotePath(r.File), err)
	}
	return replaySource{h, nil}, nil
}

func (s replaySource) content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	if s.store != nil {
		return s.store.Content(ctx, h)
	}
	data, ok := s.Contents[h]
	if !ok {
		return nil, fmt.Errorf("content %s: %w", h.Short(), store.ErrNotFound)
	}
	return data, nil
}

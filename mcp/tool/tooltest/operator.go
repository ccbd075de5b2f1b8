package tooltest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
)

// Register implements tool.Registry.
func (w *World) Register(_ context.Context, root string, _ tool.Permit) (store.Codebase, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk[root] == nil {
		return store.Codebase{}, tool.Errorf(tool.CodePathNotFound, "%s does not exist", root)
	}
	for _, c := range w.codebases {
		if c.Root == root {
			return c.Codebase, nil
		}
	}
	id := store.CodebaseID(fmt.Sprintf("c%d", len(w.codebases)+1))
	c := &codebase{
		Codebase:  store.Codebase{ID: id, Name: filepath.Base(root), Root: root, RegisteredAt: Now()},
		manifests: map[uint64]map[string]store.FileEntry{},
	}
	w.codebases[id] = c
	return c.Codebase, nil
}

// Admits implements tool.Registry: every directory of the disk is taken.
func (w *World) Admits(_ context.Context, root string, _ tool.Permit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disk[root] == nil {
		return tool.Errorf(tool.CodePathNotFound, "%s does not exist", root)
	}
	return nil
}

// Clear implements tool.Registry.
func (w *World) Clear(_ context.Context, id store.CodebaseID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.codebases, id)
	return nil
}

// Start implements tool.Operations.
func (w *World) Start(_ context.Context, id store.CodebaseID, kind tool.OperationKind) (tool.Operation, error) {
	if w.Running != nil {
		if w.Running.Kind != kind {
			return tool.Operation{}, tool.Errorf(tool.CodeOperationInProgress, "%s is running", w.Running.Kind)
		}
		return *w.Running, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := tool.Operation{ID: string(kind) + "-" + string(id), Kind: kind, Phase: tool.PhaseScanning, StartedAt: Now(), UpdatedAt: Now()}
	w.last[id] = o
	return o, nil
}

// Wait implements tool.Operations: the operation is done in three reports.
func (w *World) Wait(ctx context.Context, operation string, observe func(tool.Operation)) (tool.Operation, error) {
	if err := ctx.Err(); err != nil {
		return tool.Operation{}, err
	}
	if w.Running != nil {
		observe(*w.Running)
		<-ctx.Done()
		return *w.Running, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, c := range w.codebases {
		for _, kind := range []tool.OperationKind{tool.OperationIndex, tool.OperationSync, tool.OperationReindex, tool.OperationRepair} {
			if operation == string(kind)+"-"+string(id) {
				return w.operate(c, kind, operation, observe), nil
			}
		}
	}
	return tool.Operation{}, tool.Errorf(tool.CodeTargetNotFound, "there is no operation %s", operation)
}

func (w *World) operate(c *codebase, kind tool.OperationKind, id string, observe func(tool.Operation)) tool.Operation {
	files := len(w.disk[c.Root])
	o := tool.Operation{ID: id, Kind: kind, Phase: tool.PhaseScanning, StartedAt: Now(), UpdatedAt: Now()}
	o.Counts.FilesSeen = files
	observe(o)
	if w.Failing != "" {
		o.Phase, o.Errors, o.ErrorCount = tool.PhaseFailed, []string{w.Failing}, 1
		c.Failure = w.Failing
		w.last[c.ID] = o
		observe(o)
		return o
	}
	o.Phase, o.Counts.FilesTotal, o.Counts.FilesChunked = tool.PhaseEmbedding, files, files
	observe(o)
	w.seal(c, kind == tool.OperationReindex)
	switch kind {
	case tool.OperationReindex:
		w.Requires = nil
	case tool.OperationRepair:
		w.Damaged, w.Unread = nil, 0
	}
	o.Phase, o.Counts.FilesEmbedded, o.Counts.FilesSealed = tool.PhaseDone, files, files
	o.Counts.Chunks, o.Counts.Embedded = files, files
	w.last[c.ID] = o
	observe(o)
	return o
}

// Last implements tool.Operations.
func (w *World) Last(_ context.Context, id store.CodebaseID) (tool.Operation, error) {
	if w.Running != nil {
		return *w.Running, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[id], nil
}

// Plan implements tool.Planner: every file of the disk, of which those with a content that
// is held have an embedding.
func (w *World) Plan(_ context.Context, root string, _ tool.OperationKind, _ tool.Permit) (tool.Plan, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	plan := tool.Plan{}
	for _, text := range w.disk[root] {
		plan.Files++
		plan.Chunks++
		plan.Bytes += int64(len(text))
		if _, ok := w.contents[sha256.Sum256([]byte(text))]; ok {
			plan.EmbeddingsCached++
		} else {
			plan.EmbeddingsNew++
			plan.Estimated++
		}
	}
	return plan, nil
}

// Cancel implements tool.Operations.
func (w *World) Cancel(context.Context, store.CodebaseID) (tool.Operation, error) {
	if w.Running == nil {
		return tool.Operation{}, nil
	}
	stopped := *w.Running
	stopped.Phase = tool.PhaseCancelled
	w.Running = nil
	return stopped, nil
}

// Inspect implements tool.Inspector.
func (w *World) Inspect(_ context.Context, id store.CodebaseID) (tool.Facts, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.codebase(id)
	if err != nil {
		return tool.Facts{}, err
	}
	facts := tool.Facts{Codebase: c.Codebase, Running: w.Running}
	facts.Counts.Retained = len(c.snapshots)
	if served, err := c.snapshot(c.Current); err == nil {
		facts.Serving = &served
		facts.Counts.Files, facts.Counts.Bytes, facts.Counts.Chunks = served.Files, served.Bytes, served.Files
	}
	if len(w.Secrets) > 0 {
		facts.Counts.LeftOut = map[store.LeftOut]int{store.LeftOutSecret: len(w.Secrets)}
	}
	facts.Log = tool.LogFacts{Incarnation: "i1", First: 1, Last: uint64(len(w.events)), DeadLetters: len(w.letters)}
	return facts, nil
}

// Why implements tool.Inspector.
func (w *World) Why(_ context.Context, id store.CodebaseID, path string) (tool.WhyReport, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.codebase(id)
	if err != nil {
		return tool.WhyReport{}, err
	}
	report := tool.WhyReport{Path: path}
	if _, ok := w.disk[c.Root][path]; !ok {
		return report, tool.Errorf(tool.CodePathNotFound, "there is no file %s", path)
	}
	report.Steps = append(report.Steps, tool.WhyStep{Step: "seen", OK: true, Detail: "on disk"})
	if slices.Contains(w.Secrets, path) {
		report.Steps = append(report.Steps, tool.WhyStep{Step: "ignored", OK: false, Detail: "secret by its name"})
		return report, nil
	}
	report.Searchable = true
	report.Steps = append(report.Steps, tool.WhyStep{Step: "sealed", OK: true, Detail: "in the served snapshot"})
	return report, nil
}

// SetPinned implements tool.Switcher.
func (w *World) SetPinned(_ context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.codebases[id].snapshots {
		if s := &w.codebases[id].snapshots[i]; s.Number == number {
			s.Pinned = pinned
		}
	}
	return nil
}

// SetCurrent implements tool.Switcher.
func (w *World) SetCurrent(_ context.Context, id store.CodebaseID, number uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.codebases[id].Current = number
	return nil
}

// Export implements tool.Canon.
func (w *World) Export(_ context.Context, id store.CodebaseID, write func(string) error) (tool.Export, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, err := w.codebase(id)
	if err != nil {
		return tool.Export{}, err
	}
	digest := c.snapshots[0].Root.Short()
	if write != nil {
		if err := write("file a.go\n"); err != nil {
			return tool.Export{}, err
		}
		if err := write("digest " + digest + "\n"); err != nil {
			return tool.Export{}, err
		}
	}
	return tool.Export{Snapshot: c.Current, Lines: 1, Digest: digest}, nil
}

// Verify implements tool.Canon.
func (w *World) Verify(_ context.Context, _ store.CodebaseID, repair bool) (tool.Verification, error) {
	v := tool.Verification{Equal: len(w.Drift) == 0, DigestIndex: "d1", DigestRebuilt: "d1", Differences: w.Drift, DifferenceCount: len(w.Drift)}
	if !v.Equal {
		v.DigestRebuilt, v.Repaired = "d2", repair
	}
	return v, nil
}

// Replay implements tool.Canon.
func (w *World) Replay(_ context.Context, r tool.Replaying) ([]tool.CodebaseDigest, error) {
	return []tool.CodebaseDigest{{Codebase: "c1", Name: filepath.Base(r.File), Snapshot: max(r.To, 1), Files: 2, Digest: "d1"}}, nil
}

// Record implements tool.History.
func (w *World) Record(_ context.Context, file string) (tool.Recording, error) {
	return tool.Recording{File: file, Events: 3, Contents: 2, Bytes: 2048}, nil
}

// Events implements tool.History.
func (w *World) Events(ctx context.Context, from uint64, follow bool, fn func(tool.LogEvent) error) error {
	w.mu.Lock()
	events := slices.Clone(w.events)
	w.mu.Unlock()
	for _, e := range events {
		if e.Sequence < from {
			continue
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	if follow {
		<-ctx.Done()
	}
	return nil
}

// Collect implements tool.Keeper.
func (w *World) Collect(context.Context, bool) (store.Collected, error) {
	return store.Collected{Snapshots: 1, Contents: 2, Bytes: 3072}, nil
}

// DeadLetters implements tool.Keeper.
func (w *World) DeadLetters(context.Context) ([]tool.DeadLetter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.letters), nil
}

// Settle implements tool.Keeper.
func (w *World) Settle(_ context.Context, letters []uint64, _ bool) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.letters)
	w.letters = slices.DeleteFunc(w.letters, func(l tool.DeadLetter) bool {
		return len(letters) == 0 || slices.Contains(letters, l.Letter)
	})
	return before - len(w.letters), nil
}

// Session implements tool.Sessions.
func (w *World) Session(_ context.Context, id string) (store.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.sessions[id]
	if !ok {
		return s, fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	return s, nil
}

// PutSession implements tool.Sessions.
func (w *World) PutSession(_ context.Context, s store.Session) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[s.ID] = s
	return nil
}

// SessionIDs lists the sessions that are kept, sorted.
func (w *World) SessionIDs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.sessions))
}

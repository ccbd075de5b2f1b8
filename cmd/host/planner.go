package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// planner foretells what an operation would do.
type planner struct{ *Host }

// bytesPerChunk is what a chunk of a file that was never parsed is taken to hold.
const bytesPerChunk = 1200

// planBatch is how many files are looked up in the store at once.
const planBatch = 500

// Plan scans the tree and asks the store what of it was processed before.
func (p planner) Plan(ctx context.Context, root string, kind tool.OperationKind, permit tool.Permit) (tool.Plan, error) {
	resolved, err := p.admit(ctx, root, permit)
	if err != nil {
		return tool.Plan{}, err
	}
	codebase, err := p.at(ctx, resolved)
	if err != nil {
		return tool.Plan{}, err
	}
	var prior *scan.Index
	if codebase.ID != "" {
		if prior, err = scan.LoadIndex(p.store.Stats(ctx, codebase.ID)); err != nil {
			return tool.Plan{}, fmt.Errorf("load what the last scan saw: %w", err)
		}
	}
	result, err := scan.New(resolved, p.scanning(codebase)).Scan(ctx, prior, nil)
	if err != nil {
		return tool.Plan{}, fmt.Errorf("scan %s: %w", merkle.QuotePath(resolved), err)
	}
	done, err := p.done(ctx, codebase, kind)
	if err != nil {
		return tool.Plan{}, err
	}
	work := slices.DeleteFunc(slices.Collect(result.Index.Files()), func(f store.FileEntry) bool { return done[f.Path] == f.Content })
	var plan tool.Plan
	for batch := range slices.Chunk(work, planBatch) {
		if err := p.foretell(ctx, batch, &plan); err != nil {
			return tool.Plan{}, err
		}
	}
	return plan, nil
}

// at returns the codebase at a root, a zero one when there is none.
func (p planner) at(ctx context.Context, root string) (store.Codebase, error) {
	all, err := p.store.Codebases(ctx)
	if err != nil {
		return store.Codebase{}, err
	}
	i := slices.IndexFunc(all, func(c store.Codebase) bool { return c.Root == root && p.here(c) })
	if i < 0 {
		return store.Codebase{}, nil
	}
	return all[i], nil
}

// done is the content of each path that an operation would leave alone.
func (p planner) done(ctx context.Context, c store.Codebase, kind tool.OperationKind) (map[string]merkle.Hash, error) {
	done := map[string]merkle.Hash{}
	if c.Current == 0 || kind == tool.OperationReindex || kind == tool.OperationRepair {
		return done, nil
	}
	served, err := p.store.Snapshot(ctx, c.ID, c.Current)
	if err != nil || served.Fingerprint != p.recipe.Fingerprint() {
		return done, err
	}
	for entry, err := range p.store.Manifest(ctx, c.ID, c.Current) {
		if err != nil {
			return nil, fmt.Errorf("manifest of snapshot %d: %w", c.Current, err)
		}
		done[entry.Path] = entry.Content
	}
	return done, nil
}

// foretell adds files to a plan.
func (p planner) foretell(ctx context.Context, files []store.FileEntry, plan *tool.Plan) error {
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = store.SyntaxKey{Content: f.Content, Version: p.recipe.SyntaxVersion(f.Language)}
	}
	syntaxes, err := p.store.Syntax(ctx, keys)
	if err != nil {
		return fmt.Errorf("syntaxes: %w", err)
	}
	embedded, err := p.store.HasEmbedded(ctx, p.recipe.Embedding.Key(), keys)
	if err != nil {
		return fmt.Errorf("vectors: %w", err)
	}
	for i, f := range files {
		plan.Files++
		plan.Bytes += f.Size
		syntax, parsed := syntaxes[keys[i]]
		chunks := len(syntax.Chunks)
		if !parsed {
			chunks = int(f.Size/bytesPerChunk) + 1
			plan.Estimated++
		}
		plan.Chunks += chunks
		if embedded[keys[i]] {
			plan.EmbeddingsCached += chunks
		} else {
			plan.EmbeddingsNew += chunks
		}
	}
	return nil
}

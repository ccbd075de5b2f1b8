package operation

import (
	"context"
	"fmt"
	"slices"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Planner foretells what an operation would do. All fields are required.
type Planner struct {
	// Admit resolves a directory that may be looked at, and refuses others.
	Admit  func(ctx context.Context, root string, p tool.Permit) (string, error)
	Store  store.Reader
	Recipe store.Recipe // in force
	// Here reports whether this process sees the tree of a codebase, and Scan gives the
	// options of a scan of it.
	Here func(store.Codebase) bool
	Scan func(store.Codebase) scan.Options
}

// bytesPerChunk is what a chunk of a file that was never parsed is taken to hold.
const bytesPerChunk = 1200

// planBatch is how many files are looked up in the store at once.
const planBatch = 500

// Plan scans the tree and asks the store what of it was processed before.
func (p *Planner) Plan(ctx context.Context, root string, kind tool.OperationKind, permit tool.Permit) (tool.Plan, error) {
	resolved, err := p.Admit(ctx, root, permit)
	if err != nil {
		return tool.Plan{}, err
	}
	codebase, err := p.at(ctx, resolved)
	if err != nil {
		return tool.Plan{}, err
	}
	var prior *scan.Index
	if codebase.ID != "" {
		if prior, err = scan.LoadIndex(p.Store.Stats(ctx, codebase.ID)); err != nil {
			return tool.Plan{}, fmt.Errorf("load what the last scan saw: %w", err)
		}
	}
	result, err := scan.New(resolved, p.Scan(codebase)).Scan(ctx, prior, nil)
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
func (p *Planner) at(ctx context.Context, root string) (store.Codebase, error) {
	all, err := p.Store.Codebases(ctx)
	if err != nil {
		return store.Codebase{}, err
	}
	i := slices.IndexFunc(all, func(c store.Codebase) bool { return c.Root == root && p.Here(c) })
	if i < 0 {
		return store.Codebase{}, nil
	}
	return all[i], nil
}

// done is the content of each path that an operation would leave alone.
func (p *Planner) done(ctx context.Context, c store.Codebase, kind tool.OperationKind) (map[string]merkle.Hash, error) {
	done := map[string]merkle.Hash{}
	if c.Current == 0 || kind == tool.OperationReindex || kind == tool.OperationRepair {
		return done, nil
	}
	served, err := p.Store.Snapshot(ctx, c.ID, c.Current)
	if err != nil || served.Fingerprint != p.Recipe.Fingerprint() {
		return done, err
	}
	for entry, err := range p.Store.Manifest(ctx, c.ID, c.Current) {
		if err != nil {
			return nil, fmt.Errorf("manifest of snapshot %d: %w", c.Current, err)
		}
		done[entry.Path] = entry.Content
	}
	return done, nil
}

// foretell adds files to a plan.
func (p *Planner) foretell(ctx context.Context, files []store.FileEntry, plan *tool.Plan) error {
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = store.SyntaxKey{Content: f.Content, Version: p.Recipe.SyntaxVersion(f.Language)}
	}
	syntaxes, err := p.Store.Syntax(ctx, keys)
	if err != nil {
		return fmt.Errorf("syntaxes: %w", err)
	}
	embedded, err := p.Store.HasEmbedded(ctx, p.Recipe.Embedding.Key(), keys)
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

package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// syntaxes reads from the store the parts of definitions that segments do not contain, for the
// files of a page of hits.
type syntaxes struct {
	source      Source
	fingerprint store.Fingerprint
	recipe      *store.Recipe // read when it is first needed
	found       map[store.SyntaxKey][]store.Definition
	gone        int // files whose syntax the store does not have
}

// of returns the definitions of a file in the order of its segment, or nil when the store
// does not have them any more.
func (s *syntaxes) of(ctx context.Context, content merkle.Hash, language string, count int) ([]store.Definition, error) {
	if s.recipe == nil {
		recipe, err := s.source.Recipe(ctx, s.fingerprint)
		if err != nil {
			return nil, fmt.Errorf("recipe of the snapshot: %w", err)
		}
		s.recipe, s.found = &recipe, map[store.SyntaxKey][]store.Definition{}
	}
	key := store.SyntaxKey{Content: content, Version: s.recipe.SyntaxVersion(language)}
	if definitions, ok := s.found[key]; ok {
		return definitions, nil
	}
	read, err := s.source.Syntax(ctx, []store.SyntaxKey{key})
	if err != nil && !store.IsDamage(err) && !errors.Is(err, store.ErrUnavailable) {
		return nil, fmt.Errorf("syntax of %s: %w", content.Short(), err)
	}
	definitions := read[key].Definitions
	if len(definitions) != count {
		definitions = nil
		s.gone++
	}
	s.found[key] = definitions
	return definitions, nil
}

// definition returns a definition whole, or as much as its segment keeps of it when its
// syntax is gone.
func (r *run) definition(ctx context.Context, p *part, ordinal int) (store.Definition, error) {
	info := p.File(p.DefinitionFile(ordinal))
	all, err := r.syntax.of(ctx, info.Entry.Content, info.Entry.Language, info.Definitions)
	if err != nil || all == nil {
		return p.Definition(ordinal), err
	}
	return all[ordinal-info.FirstDefinition], nil
}

// firstDefinition returns the definition that begins first in a chunk, or nil.
func (r *run) firstDefinition(ctx context.Context, p *part, chunk int) (*store.Definition, error) {
	info := p.File(p.ChunkFile(chunk))
	var best *store.Definition
	for i := info.FirstDefinition; i < info.FirstDefinition+info.Definitions; i++ {
		if p.DefinitionChunk(i) != chunk {
			continue
		}
		d, err := r.definition(ctx, p, i)
		if err != nil {
			return nil, err
		}
		if best == nil || d.Start < best.Start {
			best = &d
		}
	}
	return best, nil
}

// enclosing returns the innermost definition around a line of a file, or nil. Of a file
// whose syntax is gone only a definition that begins on that very line is known.
func (r *run) enclosing(ctx context.Context, p *part, file int, line uint32) (*store.Definition, error) {
	var best *store.Definition
	info := p.File(file)
	for i := info.FirstDefinition; i < info.FirstDefinition+info.Definitions; i++ {
		d, err := r.definition(ctx, p, i)
		if err != nil {
			return nil, err
		}
		if d.StartLine <= line && line <= d.EndLine && (best == nil || d.End-d.Start <= best.End-best.Start) {
			best = &d
		}
	}
	return best, nil
}

package host

import (
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/scan"
)

// Recipe is the recipe that this binary indexes under, with a provider's embedding part.
func Recipe(p embedding.Provider) store.Recipe {
	return store.Recipe{
		Schema:      segment.Version,
		Tokenizer:   lexical.Version,
		Embedding:   p.Recipe(),
		Chunker:     chunk.Version,
		Grammars:    chunk.Grammars(),
		IgnoreRules: scan.Version,
	}
}

// Package recipe puts together the recipe that this binary indexes under: the versions of
// its parts, and the embedding part of a provider. Host, worker and rebuilds share it, so
// that equal binaries with equal providers work under one fingerprint.
package recipe

import (
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/scan"
)

// Of is the recipe that this binary indexes under, with a provider's embedding part.
func Of(p embedding.Provider) store.Recipe {
	return store.Recipe{
		Schema:      segment.Version,
		Tokenizer:   lexical.Version,
		Embedding:   p.Recipe(),
		Chunker:     chunk.Version,
		Grammars:    chunk.Grammars(),
		IgnoreRules: scan.Version,
	}
}

package main

import (
	"context"

	"github.com/freshet/freshet/cmd/provider"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
)

// services are those that the environment chose. What is wrong with the choice is said when
// a service is first needed: reading the help needs none.
type services struct {
	embedder provider.Embedder
	err      error
}

func chosenServices(getenv func(string) string) services {
	var s services
	s.embedder, s.err = provider.EmbedderFromEnvironment(getenv)
	return s
}

// embed opens the embedding provider. What it says of its model is kept in a data
// directory, unless that is "".
func (s services) embed(ctx context.Context, home string) (embedding.Querier, error) {
	if s.err != nil {
		return nil, tool.Errorf(tool.CodeInvalidArgument, "%w", s.err)
	}
	var memory provider.Memory
	if home != "" {
		memory = provider.MemoryIn(home)
	}
	return s.embedder.Open(ctx, memory)
}

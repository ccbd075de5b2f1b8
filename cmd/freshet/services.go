package main

import (
	"context"

	"github.com/freshet/freshet/cmd/provider"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/rerank"
	"github.com/freshet/freshet/store/search"
)

// services are those that the environment chose. What is wrong with the choice is said when
// a service is first needed: reading the help needs none.
type services struct {
	embedder provider.Embedder
	reranker provider.Reranker
	err      error
}

func chosenServices(getenv func(string) string) services {
	var s services
	if s.embedder, s.err = provider.EmbedderFromEnvironment(getenv); s.err != nil {
		return s
	}
	s.reranker, s.err = provider.RerankerFromEnvironment(getenv, s.embedder.Remote())
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

// rerank opens the reranker.
func (s services) rerank() (search.Reranking, error) {
	if s.err != nil {
		return search.Reranking{}, tool.Errorf(tool.CodeInvalidArgument, "%w", s.err)
	}
	return s.reranker.Open()
}

// examine says for doctor what is wrong with the choice, and whether the reranker is asked.
func (s services) examine() []tool.Finding {
	if s.err != nil {
		return []tool.Finding{{Check: "services", Grade: tool.GradeBad, Detail: s.err.Error(), Advice: "correct the variable: nothing is indexed or searched before"}}
	}
	service, off := s.reranker.Describe()
	switch {
	case service == "":
		return nil
	case s.reranker.Policy == rerank.PolicyOff:
		return []tool.Finding{{Check: "reranker", Grade: tool.GradeGood, Detail: service}}
	case off != "":
		return []tool.Finding{{Check: "reranker", Grade: tool.GradePoor, Detail: service + ": off", Advice: off}}
	}
	return []tool.Finding{{Check: "reranker", Grade: tool.GradeGood, Detail: service + ": the texts of the best hits are sent there"}}
}

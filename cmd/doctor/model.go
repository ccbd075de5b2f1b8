package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

// modelCheck is the name of the findings about the embedding provider.
const modelCheck = "model"

// diagnoseProvider opens the embedding provider that a host would use, without the memory
// of a data directory, and has it embed. It returns the dimension of its vectors, that of
// the built-in model where the provider does not tell.
func diagnoseProvider(ctx context.Context, opts Options) (tool.Finding, int) {
	provider, err := opts.Provider(ctx, "")
	if err != nil {
		return bad(modelCheck, err.Error(), "put the FRESHET_EMBEDDER variables right, or start the service"), builtin.New().Recipe().Dimension
	}
	defer embedding.Close(provider)
	return diagnoseModel(ctx, provider), provider.Recipe().Dimension
}

// diagnoseModel has the provider embed a query. One elsewhere may be away, or refuse.
func diagnoseModel(ctx context.Context, provider embedding.Provider) tool.Finding {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	recipe, started := provider.Recipe(), time.Now()
	vectors, err := provider.Embed(ctx, embedding.Query, []string{"where is the configuration parsed"})
	var away *embedding.Unavailable
	switch {
	case errors.As(err, &away) || errors.Is(err, context.DeadlineExceeded):
		return bad(modelCheck, fmt.Sprintf("%s cannot be reached: %v", recipe.Provider, err),
			"start the provider, or correct its address; until then new text is searched by its words only")
	case err != nil:
		return bad(modelCheck, fmt.Sprintf("%s does not embed: %v", recipe.Model, err), "check the provider's key and model; one that is built in comes with the program: install it again")
	case len(vectors) != 1 || len(vectors[0]) != recipe.Dimension:
		return bad(modelCheck, fmt.Sprintf("%s answers with vectors of another size than %d", recipe.Model, recipe.Dimension), "set the model that the recipe names")
	}
	return good(modelCheck, fmt.Sprintf("%s of %s embeds into %d dimensions in %s", recipe.Model, recipe.Provider, recipe.Dimension, milliseconds(time.Since(started))))
}

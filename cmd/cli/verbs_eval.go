package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// Evaluation is what eval was asked for.
type Evaluation struct {
	// Queries and Repos are folders, Results a file to write the hits to, "" for none.
	Queries, Repos, Results string
	// Ablations are measured beside the ranking as it is.
	Ablations bool
	// JSON asks for one JSON value on Out instead of tables.
	JSON bool
	Out  io.Writer
	Log  *slog.Logger
	// Progress is told of each repository as it begins, and of the end.
	Progress func(name string, done, of int)
}

// Evaluator measures retrieval quality. Its errors speak of folders and files that were
// named.
type Evaluator func(ctx context.Context, e Evaluation) error

func (r *run) evalVerb() *cobra.Command {
	var e Evaluation
	cmd := &cobra.Command{
		Use:   "eval --queries DIR --repos DIR",
		Short: "NDCG@10 and the rest over annotated repositories",
		Long: "Indexes every repository under --repos that --queries has annotations for, asks its queries,\n" +
			"and prints NDCG@10, hit@1, recall@10 and MRR by category, language and repository, what fits\n" +
			"into small answers, and how often the engine says that nothing fits.",
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.Queries == "" || e.Repos == "" {
				return usagef("eval needs --queries and --repos")
			}
			var err error
			if e.Log, err = r.logger(slog.LevelWarn); err != nil {
				return err
			}
			e.JSON, e.Out = r.json, r.Stdout
			e.Progress = func(name string, done, of int) {
				if name != "" {
					_, _ = fmt.Fprintf(r.Stderr, "eval: %d of %d  %s\n", done+1, of, name)
				}
			}
			if err := r.Evaluate(cmd.Context(), e); err != nil {
				return tool.Errorf(tool.CodeInvalidArgument, "%w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&e.Queries, "queries", "", "folder with repos.json and annotations/NAME.json")
	cmd.Flags().StringVar(&e.Repos, "repos", "", "folder with a checkout of each repository, by name")
	cmd.Flags().StringVar(&e.Results, "results", "", "file to write the hits of every query to, as JSON")
	cmd.Flags().BoolVar(&e.Ablations, "ablations", false, "also measure with each signal switched off")
	return cmd
}

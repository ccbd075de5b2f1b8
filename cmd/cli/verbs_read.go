package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// unbounded leaves the size of an answer to --limit.
const unbounded = -1

func (r *run) searchVerb() *cobra.Command {
	var p tool.SearchParams
	var freshness, codebase string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search, after checking that the index equals the tree",
		Long: "search checks freshness first. It registers and indexes the current directory when that\n" +
			"lies in no codebase yet.",
		Example: `  freshet search "how are log entries batched before they are pushed"
  freshet search --mode symbol --lang go Close
  freshet search --mode regex --paths 'cmd/**' 'os\.Exit\(\d\)'`,
		Args: atLeast(1, "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkText("query", args...), checkText("--paths", p.Paths...)); err != nil {
				return err
			}
			p.Query, p.Freshness, p.MaxTokens = strings.Join(args, " "), tool.Mode(freshness), unbounded
			p.MaxWaitMs = int(wait.Milliseconds())
			if wait >= 0 && p.MaxWaitMs == 0 {
				p.MaxWaitMs = 1 // 0 would be the default
			}
			p.Scope = r.scope(nil)
			if codebase != "" {
				p.Codebase = r.codebase(codebase)
			}
			p.Create = codebase == ""
			return r.call(cmd.Context(), "search", p)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&codebase, "codebase", "", "id, name or a path inside the codebase")
	flags.IntVar(&p.Limit, "limit", tool.DefaultLimit, "most hits")
	flags.StringVar(&p.Mode, "mode", "hybrid", "hybrid, semantic, text, symbol, path, exact or regex")
	flags.StringVar(&p.Case, "case", "", "in modes exact and regex: smart, sensitive or insensitive")
	flags.StringArrayVar(&p.Paths, "paths", nil, "glob that keeps files, or takes them out with a leading !; may be repeated")
	flags.StringSliceVar(&p.Langs, "lang", nil, "language, or an extension with its dot; may be repeated")
	flags.StringSliceVar(&p.Kinds, "kinds", nil, "kinds of definition: function, method, class, ...")
	flags.StringVar(&freshness, "freshness", string(tool.ModeVerified), "verified, strict or eventual")
	flags.DurationVar(&wait, "max-wait", tool.DefaultMaxWait, "how long to catch up with changes before answering")
	flags.Uint64Var(&p.At, "at", 0, "number of a retained snapshot to search instead of the tree as it is")
	flags.IntVar(&p.Context, "context", 0, "lines to show around each hit")
	flags.BoolVar(&p.Explain, "explain", false, "show every signal of each score")
	return cmd
}

func (r *run) readVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "read TARGET...",
		Short:   "Show a path, path:START-END or a symbol as it is on disk now",
		Example: "  freshet read cmd/main.go:10-40\n  freshet read Server.Close",
		Args:    atLeast(1, "a path, path:START-END or symbol"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := tool.ReadParams{Scope: r.scope(nil)}
			p.MaxTokens = unbounded
			for _, target := range args {
				p.Targets = append(p.Targets, tool.QuoteTarget(target))
			}
			return r.call(cmd.Context(), "read", p)
		},
	}
}

func (r *run) statusVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "status [CODEBASE]",
		Short: "Show states, freshness, progress, parked files and lag",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd.Context(), "status", tool.StatusParams{Scope: r.scope(args)})
		},
	}
}

func (r *run) whyVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "why PATH",
		Short: "Tell why a path is or is not searchable",
		Args:  exactly(1, "a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd.Context(), "why", tool.WhyParams{Scope: r.scope(nil), Path: typed(args[0])})
		},
	}
}

func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s needs %s", cmd.Name(), what+": freshet "+cmd.Use)
		}
		return nil
	}
}

func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%s does not take %q: freshet %s", cmd.Name(), args[n], cmd.Use)
		}
		return nil
	}
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := atLeast(n, what)(cmd, args); err != nil {
			return err
		}
		return atMost(n)(cmd, args)
	}
}

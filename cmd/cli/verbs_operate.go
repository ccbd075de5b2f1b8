package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

func (r *run) verifyVerb() *cobra.Command {
	var p tool.VerifyParams
	cmd := &cobra.Command{
		Use:   "verify [CODEBASE]",
		Short: "Compare the index with a clean rebuild of the tree; exit code 5 on drift",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Scope = r.scope(args)
			return r.call(cmd.Context(), "verify", p)
		},
	}
	cmd.Flags().BoolVar(&p.Repair, "repair", false, "set right what differs")
	return cmd
}

func (r *run) exportVerb() *cobra.Command {
	var canonical bool
	cmd := &cobra.Command{
		Use:   "export [CODEBASE] --canonical",
		Short: "Print the index as sorted lines, its digest last",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !canonical {
				return usagef("export knows one form: give --canonical")
			}
			return r.call(cmd.Context(), "export", tool.ExportParams{Scope: r.scope(args), Quiet: r.json})
		},
	}
	cmd.Flags().BoolVar(&canonical, "canonical", false, "sorted lines that equal indexes share")
	return cmd
}

func (r *run) replayVerb() *cobra.Command {
	var p tool.ReplayParams
	cmd := &cobra.Command{
		Use:   "replay [FILE]",
		Short: "Rebuild from the log, or from a recorded file, beside the live index and print the digest",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				p.File = r.path(args[0])
			}
			return r.call(cmd.Context(), "replay", p)
		},
	}
	cmd.Flags().Uint64Var(&p.From, "from", 0, "first sequence of the log")
	cmd.Flags().Uint64Var(&p.To, "to", 0, "last sequence of the log")
	return cmd
}

func (r *run) recordVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "record FILE",
		Short: "Write a history, events and their contents, to a new file that can be replayed anywhere",
		Args:  exactly(1, "the name of a new file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd.Context(), "record", tool.RecordParams{File: r.path(args[0])})
		},
	}
}

func (r *run) eventsVerb() *cobra.Command {
	var p tool.EventsParams
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the event log",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.Follow && r.json {
				return usagef("--follow prints lines without end: give it without --json")
			}
			return r.call(cmd.Context(), "events", p)
		},
	}
	cmd.Flags().BoolVar(&p.Follow, "follow", false, "go on with new events until interrupted")
	return cmd
}

func (r *run) deadLettersVerb() *cobra.Command {
	actions := []string{"list", "retry", "drop"}
	return &cobra.Command{
		Use:   "dead-letters list|retry|drop [N...]",
		Short: "Show, retry or drop the messages that no worker could take; without numbers all",
		RunE: func(cmd *cobra.Command, args []string) error {
			p := tool.DeadLetterParams{Action: "list"}
			if len(args) > 0 {
				p.Action = args[0]
				if !slices.Contains(actions, p.Action) {
					return usagef("%q is none of list, retry, drop", p.Action)
				}
				for _, arg := range args[1:] {
					n, err := number(arg)
					if err != nil {
						return err
					}
					p.Letters = append(p.Letters, n)
				}
			}
			return r.call(cmd.Context(), "dead-letters", p)
		},
	}
}

func (r *run) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  atMost(0),
		RunE: func(*cobra.Command, []string) error {
			e := tool.Succeeded(tool.Report{Build: &r.Build})
			r.print(e)
			return nil
		},
	}
}

func (r *run) chunkChildVerb() *cobra.Command {
	return &cobra.Command{
		Use:    "chunk-child",
		Short:  "Parse what the parent process sends",
		Hidden: true,
		Args:   atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if r.ServeChild == nil {
				return tool.AsError(errors.New("this program parses nothing"))
			}
			if err := r.ServeChild(r.Stdin, r.Stdout); err != nil {
				return tool.AsError(err)
			}
			return nil
		},
	}
}

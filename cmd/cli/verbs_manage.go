package cli

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

func (r *run) indexVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "index [PATH]",
		Short: "Register and index a directory; waits until it is sealed full",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			return r.call(cmd.Context(), "index", tool.ManageParams{Path: r.path(path), Wait: true})
		},
	}
}

func (r *run) syncVerb() *cobra.Command {
	return r.manageVerb("sync", "Scan the tree and wait until what changed is sealed")
}

func (r *run) reindexVerb() *cobra.Command {
	return r.manageVerb("reindex", "Process every file again under the recipe in force; the old snapshot serves meanwhile")
}

func (r *run) cancelVerb() *cobra.Command {
	return r.manageVerb("cancel", "Stop what runs on a codebase; what was done is kept")
}

func (r *run) manageVerb(verb, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " [CODEBASE]",
		Short: short,
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.call(cmd.Context(), verb, tool.ManageParams{Scope: r.scope(args), Wait: verb != "cancel"})
		},
	}
}

func (r *run) clearVerb() *cobra.Command {
	var p tool.ClearParams
	cmd := &cobra.Command{
		Use:   "clear CODEBASE",
		Short: "Remove a codebase from the index; its files are not touched",
		Long:  "clear removes a codebase in two steps: the first call says what would go and how to confirm.",
		Args:  exactly(1, "the id, name or path of a codebase"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Scope = r.scope(args)
			return r.call(cmd.Context(), "clear", p)
		},
	}
	cmd.Flags().StringVar(&p.Confirm, "confirm", "", "the id of the codebase, as the first call names it")
	return cmd
}

func (r *run) snapshotsVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "snapshots [CODEBASE] [list | pin N | unpin N | rollback N]",
		Short: "List the retained snapshots, keep one, or serve an older one again",
		Args:  atMost(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := r.snapshotParams(args)
			if err != nil {
				return err
			}
			return r.call(cmd.Context(), "snapshots", p)
		},
	}
}

// snapshotParams tells codebase, action and number apart: the action is the first or the
// second word.
func (r *run) snapshotParams(args []string) (tool.SnapshotParams, error) {
	actions := []string{"list", "pin", "unpin", "rollback"}
	p := tool.SnapshotParams{Scope: r.scope(nil), Action: "list"}
	at := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(actions, arg) })
	if len(args) > 1 && slices.Contains(actions, args[1]) {
		at = 1
	}
	switch {
	case at > 1 || (at < 0 && len(args) > 1):
		return p, usagef("after the codebase comes one of list, pin, unpin, rollback, not %q", args[1])
	case at != 0 && len(args) > 0:
		p.Scope = r.scope(args[:1])
	}
	if at < 0 {
		return p, nil
	}
	p.Action = args[at]
	rest := args[at+1:]
	if p.Action == "list" {
		if len(rest) > 0 {
			return p, usagef("list does not take %q", rest[0])
		}
		return p, nil
	}
	if len(rest) != 1 {
		return p, usagef("%s needs the number of one snapshot", p.Action)
	}
	var err error
	p.Number, err = number(rest[0])
	return p, err
}

func (r *run) diffVerb() *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "diff FROM [TO]",
		Short: "Compare two snapshots; without TO with the one that is served",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := atLeast(1, "the number of a snapshot")(cmd, args); err != nil {
				return err
			}
			return atMost(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p := tool.DiffParams{Scope: r.scope(nil)}
			p.Level = level
			var err error
			if p.From, err = number(args[0]); err != nil {
				return err
			}
			if len(args) > 1 {
				if p.To, err = number(args[1]); err != nil {
					return err
				}
			}
			return r.call(cmd.Context(), "diff", p)
		},
	}
	cmd.Flags().StringVar(&level, "level", tool.LevelFile, "file, symbol or chunk")
	return cmd
}

func (r *run) collectVerb() *cobra.Command {
	var p tool.CollectParams
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what no retained snapshot needs",
		Args:  atMost(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return r.call(cmd.Context(), "gc", p) },
	}
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "only count")
	return cmd
}

func number(arg string) (uint64, error) {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || n == 0 {
		return 0, usagef("%q is not a number from 1", arg)
	}
	return n, nil
}

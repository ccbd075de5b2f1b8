package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// Doctor examines what freshet stands on, without becoming the host. Dir is the working
// directory.
type Doctor func(ctx context.Context, home, dir string) []tool.Finding

func (r *run) doctorVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the data directory, the host, limits of the system and the repository",
		Long:  "doctor checks what freshet stands on, and says what to do about what is wrong. It exits with 5\nwhen the store or the event log is damaged, and with 1 when something else keeps freshet from\nworking.",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := r.home()
			if err != nil {
				return err
			}
			findings := append(r.Doctor(cmd.Context(), home, r.Dir), r.examineEnvironment()...)
			r.print(tool.Succeeded(tool.Report{Findings: &findings}))
			for _, f := range findings {
				if f.Grade == tool.GradeBad && r.code == tool.ExitOK {
					r.code = tool.ExitError
				}
				if f.Grade == tool.GradeBad && f.Damage {
					r.code = tool.ExitDrift
				}
			}
			return nil
		},
	}
}

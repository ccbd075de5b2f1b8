package tool

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Health is the judgement on a codebase, with a problem for each thing that is wrong.
type Health struct {
	Healthy  bool             `json:"healthy"`
	Problems []search.Warning `json:"problems"`
}

// health reports on one codebase as state does, and names what is wrong with it.
func (c *call) health(ctx context.Context, b store.Codebase, p listParams) error {
	if err := c.stateOfOne(ctx, b, p); err != nil {
		return err
	}
	status := (*c.env.Codebases)[0]
	health := Health{Problems: []search.Warning{}}
	problem := func(wrong bool, code, format string, arguments ...any) {
		if wrong {
			health.Problems = append(health.Problems, search.Warning{Code: code, Message: fmt.Sprintf(format, arguments...)})
		}
	}
	parked := 0
	for _, f := range status.Parked {
		if f.Parked {
			parked++
		}
	}
	problem(status.Failure != "", "index_failed", "the last operation failed: %s", status.Failure)
	problem(len(status.Freshness.Requires) > 0, string(CodeRequiresReindex), "the index is of another recipe")
	problem(status.Freshness.State == search.Unknown, "not_proven", "freshness cannot be proven: %s", status.Freshness.Reason)
	problem(status.Degraded != "", "degraded", "%s", status.Degraded)
	problem(parked > 0, "files_parked", "%s could not be processed", plural(parked, "file"))
	problem(status.Log.DeadLetters > 0, "dead_letters", "%s that no worker could take", plural(status.Log.DeadLetters, "message"))
	health.Healthy = len(health.Problems) == 0
	if parked > 0 || status.Failure != "" {
		c.env.NextSteps = append(c.env.NextSteps, manageStep(ActionRepair, string(b.ID),
			"compares the index with the tree and makes anew what differs"))
	}
	c.env.Health = &health
	return nil
}

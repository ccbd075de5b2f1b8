package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// keeper keeps the house.
type keeper struct{ *Host }

// Collect removes what the retention does not keep, and from the log what is behind it and
// what is left of codebases that were cleared.
func (k keeper) Collect(ctx context.Context, dryRun bool) (store.Collected, error) {
	collected, err := k.pipeline.Keeper.Collect(ctx, dryRun)
	if err != nil || dryRun {
		return collected, err
	}
	if err := k.pipeline.Keeper.Cut(ctx); err != nil {
		return collected, err
	}
	return collected, k.scrub(ctx)
}

// DeadLetters lists the messages that no worker could take.
func (k keeper) DeadLetters(ctx context.Context) ([]tool.DeadLetter, error) {
	letters, err := k.bus.DeadLetters(ctx)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	out := make([]tool.DeadLetter, len(letters))
	for i, l := range letters {
		out[i] = tool.DeadLetter{
			Letter: l.Letter, Sequence: l.Sequence, At: l.At, Codebase: l.Codebase,
			Consumer: l.Consumer, Reason: l.Reason,
		}
	}
	return out, nil
}

// Settle retries or drops dead letters; an empty list means all. When one that is named is
// not there, nothing is done.
func (k keeper) Settle(ctx context.Context, letters []uint64, retry bool) (int, error) {
	all, err := k.bus.DeadLetters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list dead letters: %w", err)
	}
	if err := allThere(letters, all); err != nil {
		return 0, err
	}
	settle := k.bus.DropDeadLetter
	if retry {
		settle = k.bus.RetryDeadLetter
	}
	settled := 0
	for _, l := range all {
		if len(letters) > 0 && !slices.Contains(letters, l.Letter) {
			continue
		}
		if err := settle(ctx, l.Letter); err != nil {
			return settled, fmt.Errorf("dead letter %d: %w", l.Letter, err)
		}
		settled++
	}
	return settled, nil
}

// maxNamed is how many numbers an error names.
const maxNamed = 20

// allThere is the error for numbers that no dead letter has.
func allThere(letters []uint64, all []bus.DeadLetter) error {
	there := make([]string, 0, len(all))
	for _, l := range all {
		there = append(there, strconv.FormatUint(l.Letter, 10))
	}
	for _, n := range letters {
		number := strconv.FormatUint(n, 10)
		if slices.Contains(there, number) {
			continue
		}
		have := "there are none"
		if len(there) > 0 {
			have = "there are " + strings.Join(there[:min(len(there), maxNamed)], ", ")
		}
		if more := len(there) - maxNamed; more > 0 {
			have += fmt.Sprintf(" and %d more", more)
		}
		return tool.Errorf(tool.CodeTargetNotFound, "there is no dead letter %s; %s", number, have).
			Detail("letters", there).
			Next(advice.Command("freshet dead-letters list", "shows the dead letters with their reasons"))
	}
	return nil
}

// Package maintenance runs what an operator asks for to keep store and log in order: garbage
// collection, and retrying or dropping dead letters. What runs by itself is pipeline/upkeep.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// Collector removes what the retention does not keep; an upkeep.Keeper is one.
type Collector interface {
	// Collect collects garbage in the store; a dry run only counts.
	Collect(ctx context.Context, dryRun bool) (store.Collected, error)
	// Cut removes from the log what is behind the oldest retained snapshots.
	Cut(ctx context.Context) error
	// Purge removes the events of a codebase below a sequence, 0 for all.
	Purge(ctx context.Context, id store.CodebaseID, below uint64) error
}

// Letters are the messages that no worker could take; a natsbus.Bus has them.
type Letters interface {
	DeadLetters(ctx context.Context) ([]bus.DeadLetter, error)
	RetryDeadLetter(ctx context.Context, letter uint64) error
	DropDeadLetter(ctx context.Context, letter uint64) error
}

// Maintenance runs garbage collection and manages dead letters. All fields are required.
type Maintenance struct {
	Collector Collector
	Letters   Letters
	// Scrub takes what was deleted out of the files of the store; a server does that itself.
	Scrub func(ctx context.Context) error
}

// Collect removes what the retention does not keep, and from the log what is behind it and
// what is left of codebases that were cleared.
func (m Maintenance) Collect(ctx context.Context, dryRun bool) (store.Collected, error) {
	collected, err := m.Collector.Collect(ctx, dryRun)
	if err != nil || dryRun {
		return collected, err
	}
	if err := m.Collector.Cut(ctx); err != nil {
		return collected, err
	}
	return collected, m.Scrub(ctx)
}

// DeadLetters lists the messages that no worker could take.
func (m Maintenance) DeadLetters(ctx context.Context) ([]tool.DeadLetter, error) {
	letters, err := m.Letters.DeadLetters(ctx)
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
func (m Maintenance) Settle(ctx context.Context, letters []uint64, retry bool) (int, error) {
	all, err := m.Letters.DeadLetters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list dead letters: %w", err)
	}
	if err := allThere(letters, all); err != nil {
		return 0, err
	}
	settle := m.Letters.DropDeadLetter
	if retry {
		settle = m.Letters.RetryDeadLetter
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

// Forget removes what log and store hold of a codebase that was cleared.
func (m Maintenance) Forget(ctx context.Context, id store.CodebaseID) error {
	if err := m.Collector.Purge(ctx, id, 0); err != nil {
		return fmt.Errorf("purge events of %s: %w", id, err)
	}
	if err := m.dropLetters(ctx, id); err != nil {
		return fmt.Errorf("drop dead letters of %s: %w", id, err)
	}
	_, err := m.Collector.Collect(ctx, false)
	return err
}

// dropLetters drops the dead letters of a codebase.
func (m Maintenance) dropLetters(ctx context.Context, id store.CodebaseID) error {
	letters, err := m.Letters.DeadLetters(ctx)
	if err != nil {
		return err
	}
	for _, l := range letters {
		if l.Codebase != id {
			continue
		}
		if err := m.Letters.DropDeadLetter(ctx, l.Letter); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
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

package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// keeper keeps the house.
type keeper struct{ *Host }

// The retention: the newest snapshots, and those of the last days.
const (
	keepSnapshots = 20
	keepDays      = 7
)

// Collect removes what the retention does not keep, and from the log what is left of
// codebases that were cleared.
func (k keeper) Collect(ctx context.Context, dryRun bool) (store.Collected, error) {
	collected, err := k.store.Collect(ctx, store.Retention{
		Keep: keepSnapshots, Since: k.opts.Now().Add(-keepDays * 24 * time.Hour), DryRun: dryRun,
	})
	if err != nil {
		return collected, fmt.Errorf("collect: %w", err)
	}
	if dryRun {
		return collected, nil
	}
	return collected, k.purgeStrays(ctx)
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
			Next(command("freshet dead-letters list", "shows the dead letters with their reasons"))
	}
	return nil
}

// The times between looks for segments to merge, and for what to collect.
const (
	compactEvery = time.Minute
	tidyEvery    = 15 * time.Minute
)

// maintain merges segments and collects now and then until ctx ends, and returns nil then.
func (h *Host) maintain(ctx context.Context) error {
	compact, tidy := time.NewTicker(compactEvery), time.NewTicker(tidyEvery)
	defer compact.Stop()
	defer tidy.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-compact.C:
			err = h.compact(ctx)
		case <-tidy.C:
			err = h.tidy(ctx)
		}
		if err != nil && ctx.Err() == nil {
			h.opts.Log.Warn("maintenance", "error", err)
		}
	}
}

// compactable lists the codebases that are followed, or all where others follow them too.
func (h *Host) compactable(ctx context.Context) ([]store.CodebaseID, error) {
	if !h.shared() {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Collect(maps.Keys(h.followers)), nil
	}
	codebases, err := h.store.Codebases(ctx)
	var ids []store.CodebaseID
	for _, c := range codebases {
		if c.Current > 0 {
			ids = append(ids, c.ID)
		}
	}
	return ids, err
}

// compact merges segments of the codebases that have grown many.
func (h *Host) compact(ctx context.Context) error {
	ids, err := h.compactable(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := h.pipeline.Sealer.Compact(ctx, id); err != nil {
			return fmt.Errorf("compact %s: %w", id, err)
		}
	}
	return nil
}

// purgeAbove is how many messages the log may have before it is cut behind the oldest
// retained snapshots.
const purgeAbove = 10_000

// tidy collects, and lets go of the log behind the oldest retained snapshots when it has
// grown long.
func (h *Host) tidy(ctx context.Context) error {
	if _, err := (keeper{h}).Collect(ctx, false); err != nil {
		return err
	}
	state, err := h.bus.State(ctx)
	if err != nil || state.Messages < purgeAbove {
		return err
	}
	codebases, err := h.store.Codebases(ctx)
	if err != nil {
		return err
	}
	for _, c := range codebases {
		snapshots, err := h.store.Snapshots(ctx, c.ID)
		if err != nil || len(snapshots) == 0 {
			return err
		}
		if err := h.purgeBehind(ctx, c.ID, snapshots[len(snapshots)-1].Number); err != nil {
			return fmt.Errorf("purge the log of %s: %w", c.ID, err)
		}
	}
	return nil
}

var errFound = errors.New("found")

// purgeBehind removes a codebase's messages before the opening of a snapshot.
func (h *Host) purgeBehind(ctx context.Context, id store.CodebaseID, oldest uint64) error {
	var below uint64
	err := h.bus.Read(ctx, 1, 0, func(m bus.Stored) error {
		if m.Codebase != id {
			return nil
		}
		e, err := event.Decode(m.Data)
		if err == nil && e.Type == event.SnapshotOpened && e.Snapshot >= oldest {
			below = m.Sequence
			return errFound
		}
		return nil
	})
	if !errors.Is(err, errFound) {
		return err
	}
	return h.purge(ctx, id, below)
}

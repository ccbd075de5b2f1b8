package tool

import (
	"context"
	"slices"
	"strconv"

	"github.com/freshet/freshet/store"
)

// snapshots lists the retained snapshots, newest first, after it pinned, unpinned or
// served one again when that was asked.
func (c *call) snapshots(ctx context.Context, p SnapshotParams) error {
	actions := []string{"list", "pin", "unpin", "rollback"}
	if p.Action == "" {
		p.Action = "list"
	}
	if !slices.Contains(actions, p.Action) {
		return Invalid("action", "unknown action "+p.Action, actions...)
	}
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	if p.Action != "list" {
		if err := c.switchSnapshot(ctx, b, p); err != nil {
			return err
		}
	}
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual})
	if err != nil {
		return err
	}
	all, err := c.Catalog.Snapshots(ctx, b.ID)
	if err != nil {
		return err
	}
	infos := make([]SnapshotInfo, 0, len(all))
	for _, s := range all {
		infos = append(infos, infoOf(s, reading.Verdict.Snapshot))
	}
	c.env.Snapshots = &infos
	c.env.TotalCount, c.env.ReturnedCount = len(infos), len(infos)
	return nil
}

func (c *call) switchSnapshot(ctx context.Context, b store.Codebase, p SnapshotParams) error {
	s, err := c.retained(ctx, b, p.Number, "number")
	if err != nil {
		return err
	}
	if p.Action != "rollback" {
		return c.Snapshots.SetPinned(ctx, b.ID, p.Number, p.Action == "pin")
	}
	if s.Level == store.LevelOpen {
		return Errorf(CodeSnapshotNotFound, "snapshot %d is not sealed, so it cannot be served", p.Number).Next(historyStep(b))
	}
	return c.Snapshots.SetCurrent(ctx, b.ID, p.Number)
}

// retained returns a snapshot that the store still has, or says whether there never was
// one of that number or it was collected.
func (c *call) retained(ctx context.Context, b store.Codebase, number uint64, field string) (store.Snapshot, error) {
	if number == 0 {
		return store.Snapshot{}, Invalid(field, "is missing: give the number of a snapshot")
	}
	all, err := c.Catalog.Snapshots(ctx, b.ID)
	if err != nil {
		return store.Snapshot{}, err
	}
	at := slices.IndexFunc(all, func(s store.Snapshot) bool { return s.Number == number })
	if at >= 0 {
		return all[at], nil
	}
	code, message := CodeSnapshotNotFound, "there is no snapshot "
	if number <= b.Latest {
		code, message = CodeSnapshotExpired, "retention has removed snapshot "
	}
	numbers := make([]uint64, 0, len(all))
	for _, s := range all {
		numbers = append(numbers, s.Number)
	}
	return store.Snapshot{}, Errorf(code, "%s", message+strconv.FormatUint(number, 10)).
		Detail("retained", numbers).
		Next(historyStep(b))
}

func infoOf(s store.Snapshot, serving uint64) SnapshotInfo {
	info := SnapshotInfo{
		Number: s.Number, Parent: s.Parent, Root: s.Root.String(), Fingerprint: s.Fingerprint,
		Level: s.Level.String(), OpenedAt: s.OpenedAt, Files: s.Files, Bytes: s.Bytes,
		Changed: s.Changed, Ref: s.Ref, Pinned: s.Pinned, Serving: s.Number == serving,
	}
	if !s.SealedAt.IsZero() {
		info.SealedAt = &s.SealedAt
	}
	return info
}

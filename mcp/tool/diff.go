package tool

import (
	"context"
	"iter"
	"sort"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

const defaultDiffLimit = 200

// diff compares the manifests of two retained snapshots.
func (c *call) diff(ctx context.Context, p DiffParams) error {
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual})
	if err != nil {
		return err
	}
	if p.To == 0 {
		if reading.View == nil {
			return notReady(b, reading.Running)
		}
		p.To = reading.View.Snapshot.Number
	}
	from, err := c.retained(ctx, b, p.From, "from")
	if err != nil {
		return err
	}
	to, err := c.retained(ctx, b, p.To, "to")
	if err != nil {
		return err
	}
	changes, err := compare(c.Catalog.Manifest(ctx, b.ID, from.Number), c.Catalog.Manifest(ctx, b.ID, to.Number))
	if err != nil {
		return err
	}
	compared := Compared{
		From: infoOf(from, reading.Verdict.Snapshot), To: infoOf(to, reading.Verdict.Snapshot),
		Settings: []store.FieldChange{},
	}
	if from.Fingerprint != to.Fingerprint {
		if compared.Settings, err = c.settings(ctx, from, to); err != nil {
			return err
		}
	}
	compared.count(changes)
	c.env.Compared = &compared
	c.list(changes, p.Limit)
	return nil
}

func (c *call) settings(ctx context.Context, from, to store.Snapshot) ([]store.FieldChange, error) {
	older, err := c.Contents.Recipe(ctx, from.Fingerprint)
	if err != nil {
		return nil, err
	}
	newer, err := c.Contents.Recipe(ctx, to.Fingerprint)
	if err != nil {
		return nil, err
	}
	return older.Diff(newer), nil
}

func (c *Compared) count(changes []ManifestChange) {
	for _, change := range changes {
		switch change.Kind {
		case merkle.Added.String():
			c.Added++
		case merkle.Modified.String():
			c.Modified++
		case merkle.Removed.String():
			c.Removed++
		case merkle.Renamed.String():
			c.Renamed++
		}
	}
}

func (c *call) list(changes []ManifestChange, limit int) {
	if limit <= 0 {
		limit = defaultDiffLimit
	}
	shown := changes[:min(limit, len(changes))]
	c.page = &page{items: len(shown), keep: func(n int) {
		kept := shown[:n]
		c.env.Changes = &kept
		c.env.TotalCount, c.env.ReturnedCount = len(changes), n
		c.env.RemainingCount = len(changes) - n
		c.env.HasMore = c.env.RemainingCount > 0
	}}
}

// compare merges two manifests, both sorted by path, and lists what differs, sorted by
// path. A removed content that was added elsewhere is a rename.
func compare(from, to iter.Seq2[store.FileEntry, error]) ([]ManifestChange, error) {
	nextOld, stopOld := iter.Pull2(from)
	defer stopOld()
	nextNew, stopNew := iter.Pull2(to)
	defer stopNew()
	var added, removed []store.FileEntry
	changes := []ManifestChange{}
	older, err, hasOld := nextOld()
	if err != nil {
		return nil, err
	}
	newer, err, hasNew := nextNew()
	if err != nil {
		return nil, err
	}
	for hasOld || hasNew {
		stepOld := hasOld && (!hasNew || older.Path <= newer.Path)
		stepNew := hasNew && (!hasOld || newer.Path <= older.Path)
		switch {
		case stepOld && stepNew:
			if older.Content != newer.Content {
				changes = append(changes, ManifestChange{Kind: merkle.Modified.String(), Path: merkle.QuotePath(newer.Path)})
			}
		case stepOld:
			removed = append(removed, older)
		default:
			added = append(added, newer)
		}
		if stepOld {
			if older, err, hasOld = nextOld(); err != nil {
				return nil, err
			}
		}
		if stepNew {
			if newer, err, hasNew = nextNew(); err != nil {
				return nil, err
			}
		}
	}
	changes = append(changes, moved(added, removed)...)
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].Path < changes[j].Path })
	return changes, nil
}

// moved pairs added with removed entries of the same content, in order of their paths.
func moved(added, removed []store.FileEntry) []ManifestChange {
	gone := map[merkle.Hash][]string{}
	for _, e := range removed {
		gone[e.Content] = append(gone[e.Content], e.Path)
	}
	var changes []ManifestChange
	taken := map[string]bool{}
	for _, e := range added {
		change := ManifestChange{Kind: merkle.Added.String(), Path: merkle.QuotePath(e.Path)}
		if from := gone[e.Content]; len(from) > 0 {
			change.Kind, change.From = merkle.Renamed.String(), merkle.QuotePath(from[0])
			taken[from[0]] = true
			gone[e.Content] = from[1:]
		}
		changes = append(changes, change)
	}
	for _, e := range removed {
		if !taken[e.Path] {
			changes = append(changes, ManifestChange{Kind: merkle.Removed.String(), Path: merkle.QuotePath(e.Path)})
		}
	}
	return changes
}

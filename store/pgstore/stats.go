package pgstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
)

const statColumns = "path, dir, size, mtime, ctime, device, inode, mode, racy, xx, content, language, flags, left_out"

func scanStat(rows pgx.Rows) (e store.StatEntry, err error) {
	var path, content, language, out []byte
	var device, inode, mode, xx int64
	var flags int16
	err = rows.Scan(&path, &e.Dir, &e.Stat.Size, &e.Stat.MtimeNs, &e.Stat.CtimeNs, &device, &inode, &mode, &e.Racy, &xx,
		&content, &language, &flags, &out)
	if err != nil {
		return e, err
	}
	e.Path, e.Language, e.Flags, e.LeftOut = string(path), string(language), store.FileFlags(flags), store.LeftOut(out)
	e.Stat.Device, e.Stat.Inode, e.Stat.Mode, e.XX = uint64(device), uint64(inode), uint32(mode), uint64(xx)
	e.Content, err = hashOf(content)
	return e, err
}

// Stats yields every stat entry of a codebase as they are together when it begins.
func (s *Store) Stats(ctx context.Context, id store.CodebaseID) iter.Seq2[store.StatEntry, error] {
	return func(yield func(store.StatEntry, error) bool) {
		var all []store.StatEntry
		err := s.view(ctx, func(c *tx) error {
			all = nil
			if _, err := c.codebase(ctx, id); err != nil {
				return err
			}
			return c.each(ctx, "SELECT "+statColumns+" FROM stats WHERE tenant = $1 AND codebase = $2 ORDER BY path", []any{string(id)},
				func(rows pgx.Rows) error {
					e, err := scanStat(rows)
					all = append(all, e)
					return err
				})
		})
		if err != nil {
			yield(store.StatEntry{}, err)
			return
		}
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// PutStats changes stat entries.
func (s *Store) PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	return s.change(ctx, func(r rows) error {
		if _, err := r.Codebase(ctx, id); err != nil {
			return err
		}
		return r.PutStats(ctx, id, upserts, removes)
	})
}

// PutStats writes stat entries; of two with one path the later one.
func (r rows) PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	if len(removes) > 0 {
		paths := make([][]byte, len(removes))
		for i, path := range removes {
			paths[i] = blob(path)
		}
		if _, err := r.c.exec(ctx, "DELETE FROM stats WHERE tenant = $1 AND codebase = $2 AND path = ANY($3)", string(id), paths); err != nil {
			return fmt.Errorf("remove stat entries: %w", err)
		}
	}
	if len(upserts) == 0 {
		return nil
	}
	all := lastOfEach(upserts)
	err := r.c.stage(ctx, stageStats, len(all), func(i int) ([]any, error) {
		e := all[i]
		return []any{
			blob(e.Path), e.Dir, e.Stat.Size, e.Stat.MtimeNs, e.Stat.CtimeNs, int64(e.Stat.Device), int64(e.Stat.Inode),
			int64(e.Stat.Mode), e.Racy, int64(e.XX), e.Content[:], blob(e.Language), int16(e.Flags), blob(string(e.LeftOut)),
		}, nil
	})
	if err != nil {
		return err
	}
	_, err = r.c.exec(ctx, "INSERT INTO stats (tenant, codebase, "+statColumns+") SELECT $1, $2, "+statColumns+` FROM stage_stats
		ON CONFLICT (tenant, codebase, path) DO UPDATE SET dir = excluded.dir, size = excluded.size, mtime = excluded.mtime,
			ctime = excluded.ctime, device = excluded.device, inode = excluded.inode, mode = excluded.mode, racy = excluded.racy,
			xx = excluded.xx, content = excluded.content, language = excluded.language, flags = excluded.flags,
			left_out = excluded.left_out`, string(id))
	if err != nil {
		return fmt.Errorf("put stat entries: %w", err)
	}
	return nil
}

// lastOfEach sorts entries by path and keeps the last one given of each.
func lastOfEach(entries []store.StatEntry) []store.StatEntry {
	all := slices.Clone(entries)
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b store.StatEntry) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(all, func(a, b store.StatEntry) bool { return a.Path == b.Path })
}

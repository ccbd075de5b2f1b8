package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
)

// Dead lists the files of segments that are dead in a snapshot.
func (r *rows) Dead(_ context.Context, number uint64, ids []store.SegmentID) (map[store.SegmentID][]uint32, error) {
	dead := make(map[store.SegmentID][]uint32, len(ids))
	for _, id := range ids {
		ordinals, err := r.c.dead(id, 0, int64(number))
		if err != nil {
			return nil, err
		}
		dead[id] = ordinals
	}
	return dead, nil
}

// AddDead adds files to those of segments that die with a snapshot.
func (r *rows) AddDead(_ context.Context, number uint64, dead map[store.SegmentID][]uint32) error {
	for id, ordinals := range dead {
		if err := r.c.putDead(id, int64(number), ordinals); err != nil {
			return err
		}
	}
	return nil
}

// dead lists, sorted, the files of a segment that died in the snapshots from to to.
func (c *session) dead(id store.SegmentID, from, to int64) (ordinals []uint32, err error) {
	err = c.each("SELECT since, body FROM dead WHERE segment = ? AND since BETWEEN ? AND ?", []any{int64(id), from, to}, func(rows *sql.Rows) error {
		var since int64
		var body []byte
		if err := rows.Scan(&since, &body); err != nil {
			return err
		}
		value, err := unseal(body, "dead", number(int64(id)), number(since))
		if err != nil {
			return err
		}
		r := reader{buf: value}
		last := uint64(0)
		for range min(r.uint(), uint64(len(r.buf))) {
			last += r.uint()
			ordinals = append(ordinals, uint32(last))
		}
		return r.end("list of dead files")
	})
	if err != nil {
		return nil, fmt.Errorf("dead files of segment %d: %w", id, err)
	}
	slices.Sort(ordinals)
	return slices.Compact(ordinals), nil
}

// putDead adds files to those of a segment that die with a snapshot.
func (c *session) putDead(id store.SegmentID, since int64, ordinals []uint32) error {
	if len(ordinals) == 0 {
		return nil
	}
	before, err := c.dead(id, since, since)
	if err != nil {
		return err
	}
	all := slices.Concat(before, ordinals)
	slices.Sort(all)
	all = slices.Compact(all)
	var w writer
	w.uint(uint64(len(all)))
	last := uint32(0)
	for _, ordinal := range all {
		w.uint(uint64(ordinal - last))
		last = ordinal
	}
	err = c.exec("INSERT INTO dead (segment, since, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
		int64(id), since, seal(w.buf, "dead", number(int64(id)), number(since)))
	if err != nil {
		return fmt.Errorf("put dead files of segment %d: %w", id, err)
	}
	return nil
}

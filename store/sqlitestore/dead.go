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
		if err := r.c.addDead(id, int64(number), ordinals); err != nil {
			return err
		}
	}
	return nil
}

// dead lists, sorted, the files of a segment that died in the snapshots from to to.
func (c *session) dead(id store.SegmentID, from, to int64) (ordinals []uint32, err error) {
	r := newRecord("dead", deadColumns)
	err = c.each("SELECT "+deadColumns+" FROM dead WHERE segment = ? AND since BETWEEN ? AND ?", []any{int64(id), from, to}, func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		r.at += 2 // segment, since
		for _, ordinal := range r.list() {
			ordinals = append(ordinals, uint32(ordinal))
		}
		return r.end()
	})
	if err != nil {
		return nil, fmt.Errorf("dead files of segment %d: %w", id, err)
	}
	slices.Sort(ordinals)
	return slices.Compact(ordinals), nil
}

var putDead = put("dead", deadColumns, 2)

// addDead adds files to those of a segment that die with a snapshot.
func (c *session) addDead(id store.SegmentID, since int64, ordinals []uint32) error {
	if len(ordinals) == 0 {
		return nil
	}
	before, err := c.dead(id, since, since)
	if err != nil {
		return err
	}
	all := slices.Concat(before, ordinals)
	slices.Sort(all)
	if err := c.putDead(id, since, slices.Compact(all)); err != nil {
		return fmt.Errorf("put dead files of segment %d: %w", id, err)
	}
	return nil
}

func (c *session) putDead(id store.SegmentID, since int64, ordinals []uint32) error {
	var w columns
	w.uint(uint64(id))
	w.int(since)
	w.text(list(ordinals))
	return c.exec(putDead, w.summed("dead")...)
}

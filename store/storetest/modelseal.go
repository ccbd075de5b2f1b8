package storetest

import (
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
)

func (m *model) segment(t *rapid.T) {
	id, data := anyID(t), anyText(t)
	m.both(t, "put segment", func(s store.Store, i int) (any, error) {
		sid, err := s.PutSegment(m.ctx, id, 3, 3, []byte(data))
		if err == nil {
			m.ids[i] = append(m.ids[i], sid)
		}
		return nil, err
	})
	for i, sid := range m.ids[1] {
		m.alias[sid] = m.ids[0][i]
	}
}

// anySegments draws a few of the segments made so far, by index, without repeats.
func (m *model) anySegments(t *rapid.T) []int {
	if len(m.ids[0]) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.IntRange(0, len(m.ids[0])-1), 0, min(3, len(m.ids[0])), rapid.ID[int]).Draw(t, "segments")
}

func (m *model) named(i int, indexes []int) []store.SegmentID {
	var ids []store.SegmentID
	for _, index := range indexes {
		ids = append(ids, m.ids[i][index])
	}
	return ids
}

func (m *model) putSeal(t *rapid.T, sl seal) {
	m.seals = append(m.seals, sl)
	m.both(t, "seal", func(s store.Store, i int) (any, error) {
		out := sl.Seal
		out.Segments = m.named(i, sl.segments)
		out.Dead = map[store.SegmentID][]uint32{}
		for index, ordinals := range sl.dead {
			out.Dead[m.ids[i][index]] = ordinals
		}
		return nil, s.Seal(m.ctx, out)
	})
}

func (m *model) anySeal(t *rapid.T, id store.CodebaseID, number uint64) seal {
	sl := seal{segments: m.anySegments(t), dead: map[int][]uint32{}}
	for _, index := range sl.segments {
		sl.dead[index] = rapid.SliceOfN(rapid.Uint32Range(0, 2), 0, 2).Draw(t, "dead")
	}
	sl.Seal = store.Seal{
		Codebase: id, Number: number, Level: pick(t, "level", store.LevelText, store.LevelFull, store.LevelFull), At: m.clock.now(),
		Events: []store.OutboxEvent{event(id, number, 9)},
	}
	return sl
}

func (m *model) seal(t *rapid.T) { m.putSeal(t, m.anySeal(t, anyID(t), anyNumber(t))) }

func (m *model) sealLatest(t *rapid.T) {
	id := anyID(t)
	c, err := m.twin.Codebase(m.ctx, id)
	if err != nil {
		t.Skip("no such codebase")
	}
	if rapid.IntRange(0, 3).Draw(t, "finish") > 0 {
		m.both(t, "finish", func(s store.Store, _ int) (any, error) { return nil, Finish(m.ctx, s, id, c.Latest) })
	}
	m.putSeal(t, m.anySeal(t, id, c.Latest))
}

func (m *model) sealAgain(t *rapid.T) {
	if len(m.seals) == 0 {
		t.Skip("nothing was sealed")
	}
	m.putSeal(t, pick(t, "seal", m.seals...))
}

func (m *model) replace(t *rapid.T) {
	id, number := anyID(t), anyNumber(t)
	old, merged := m.anySegments(t), m.anySegments(t)
	useView := rapid.Bool().Draw(t, "the right old list")
	m.both(t, "replace", func(s store.Store, i int) (any, error) {
		from := m.named(i, old)
		if view, err := s.View(m.ctx, id, number); err == nil && useView {
			from = nil
			for _, ref := range view.Segments {
				from = append(from, ref.ID)
			}
		}
		return nil, s.ReplaceSegments(m.ctx, id, number, from, m.named(i, merged))
	})
}

func (m *model) snapshotWords(t *rapid.T) {
	id, number := anyID(t), anyNumber(t)
	word := pick(t, "word", "abandon", "current", "pin", "unpin")
	m.both(t, word, func(s store.Store, _ int) (any, error) {
		switch word {
		case "abandon":
			return nil, s.Abandon(m.ctx, id, number)
		case "current":
			return nil, s.SetCurrent(m.ctx, id, number)
		}
		return nil, s.SetPinned(m.ctx, id, number, word == "pin")
	})
}

func (m *model) fail(t *rapid.T) {
	f := store.Failure{
		Codebase: anyID(t), Path: anyPath(t), Content: hashOf(anyText(t)), Stage: pick(t, "stage", store.StageChunk, store.StageEmbed),
		Reason: "reason", At: m.clock.now(),
	}
	f.Version = recipe("m1").SyntaxVersion("Go")
	if f.Stage == store.StageEmbed {
		f.Version = recipe("m1").Embedding.Key()
	}
	word := pick(t, "word", "record", "record", "park", "forget", "forget all")
	m.both(t, word, func(s store.Store, _ int) (any, error) {
		switch word {
		case "forget":
			return s.ForgetFailures(m.ctx, f.Codebase, f.Path)
		case "forget all":
			return s.ForgetFailures(m.ctx, f.Codebase, "")
		}
		return s.RecordFailure(m.ctx, f, word == "park", func(f store.Failure) (store.OutboxEvent, error) {
			return event(f.Codebase, 1, uint32(f.Tries)), nil
		})
	})
}

func (m *model) outbox(t *rapid.T) {
	events := []store.OutboxEvent{event(anyID(t), anyNumber(t), 9), event(anyID(t), anyNumber(t), 0)}
	at := store.LogPosition{Incarnation: pick(t, "incarnation", "i", "j"), Sequence: rapid.Uint64().Draw(t, "sequence")}
	word := pick(t, "word", "put", "mark", "set")
	m.both(t, word, func(s store.Store, _ int) (any, error) {
		switch word {
		case "put":
			return nil, s.PutOutbox(m.ctx, events)
		case "mark":
			return nil, s.MarkPublished(m.ctx, events, at)
		}
		return nil, s.SetLogPosition(m.ctx, at)
	})
}

func (m *model) collect(t *rapid.T) {
	r := store.Retention{Keep: rapid.IntRange(0, 3).Draw(t, "keep"), DryRun: rapid.IntRange(0, 3).Draw(t, "dry") == 0}
	if rapid.Bool().Draw(t, "since") {
		r.Since = m.clock.now().Add(-30 * 60e9)
		r.Thin = []store.Thinning{{Before: m.clock.now().Add(-10 * 60e9), Every: 20 * 60e9}}
	}
	m.both(t, "collect", func(s store.Store, _ int) (any, error) { return s.Collect(m.ctx, r) })
}

package store

import (
	"slices"
	"testing"
	"time"
)

// Snapshots that are thinned again and again while edits are made, are as few as when they
// are thinned once, they leave no gap longer than a span, and thinning again takes nothing.
func TestThinningIsSteady(t *testing.T) {
	t.Parallel()
	retention := func(now time.Time) Retention {
		return Retention{Keep: 3, Since: now.Add(-48 * time.Hour), Thin: []Thinning{
			{Before: now.Add(-time.Hour), Every: time.Minute}, {Before: now.Add(-6 * time.Hour), Every: time.Hour},
		}}
	}
	thin := func(all []Snapshot, now time.Time) []Snapshot {
		keep := retention(now).Retained(Codebase{Latest: all[0].Number, Current: all[0].Number}, all)
		return slices.DeleteFunc(slices.Clone(all), func(n Snapshot) bool { return !keep[n.Number] })
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var often []Snapshot // newest first
	for number := uint64(1); number <= 20_000; number++ {
		now = now.Add(11 * time.Second)
		often = slices.Insert(often, 0, Snapshot{Number: number, Level: LevelFull, SealedAt: now, Pinned: number == 77})
		if number%97 == 0 {
			often = thin(often, now)
		}
	}
	often = thin(often, now)
	if again := thin(often, now); len(again) != len(often) {
		t.Errorf("%d of %d are left when they are thinned again", len(again), len(often))
	}
	if most := 328 + 301 + 43 + 1; len(often) > most || len(often) < most-5 {
		t.Errorf("%d snapshots are left, want %d", len(often), most)
	}
	if last := often[len(often)-1]; last.Number != 77 {
		t.Errorf("the oldest that is left is %d, want the pinned one", last.Number)
	}
	for i := 1; i < len(often)-1; i++ {
		every := 11 * time.Second
		switch age := now.Sub(often[i].SealedAt); {
		case age > 6*time.Hour:
			every = time.Hour
		case age > time.Hour:
			every = time.Minute
		}
		if gap := often[i-1].SealedAt.Sub(often[i].SealedAt); gap > 2*every {
			t.Errorf("%v lie between two that are left, sealed %v ago", gap, now.Sub(often[i].SealedAt))
		}
	}
}

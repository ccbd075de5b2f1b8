package search

import (
	"testing"

	"pgregory.net/rapid"
)

// TestBitmapAny compares ranges of a bitmap with a look at each number.
func TestBitmapAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 400).Draw(t, "size")
		b := newBitmap(size)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, size-1), 0, 4).Draw(t, "set") {
			b.set(i)
		}
		from := rapid.IntRange(0, size).Draw(t, "from")
		to := rapid.IntRange(from, size).Draw(t, "to")
		want := false
		for i := from; i < to; i++ {
			want = want || b.has(i)
		}
		if got := b.any(from, to); got != want {
			t.Errorf("any of %d up to %d is %v, want %v", from, to, got, want)
		}
	})
}

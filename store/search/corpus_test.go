package search

import "testing"

// TestBitmapAny asks for every range of sets of one number.
func TestBitmapAny(t *testing.T) {
	t.Parallel()
	const size = 150
	for only := range size {
		b := newBitmap(size)
		b.set(only)
		for from := range size + 1 {
			for to := from; to <= size; to++ {
				if got, want := b.any(from, to), from <= only && only < to; got != want {
					t.Fatalf("any of %d up to %d with %d alone is %v", from, to, only, got)
				}
			}
		}
	}
}

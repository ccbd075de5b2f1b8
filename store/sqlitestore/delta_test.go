package sqlitestore

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
)

func TestDeltaGivesTargetBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few letters, so that runs in common are frequent and of any length.
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("abc\n")), 0, 2000)
		source := text.Draw(t, "source")
		target := text.Draw(t, "target")
		for range rapid.IntRange(0, 5).Draw(t, "copies") {
			if len(source) == 0 {
				break
			}
			from := rapid.IntRange(0, len(source)-1).Draw(t, "from")
			target = append(target, source[from:rapid.IntRange(from, len(source)).Draw(t, "to")]...)
		}
		var tables deltaTables
		for range 2 { // the second time with a table that was used
			got, err := applyDelta(source, tables.append(nil, source, target))
			if err != nil || !bytes.Equal(got, target) {
				t.Fatalf("got %q (%v), want %q", got, err, target)
			}
		}
	})
}

func TestDeltaIsSmall(t *testing.T) {
	t.Parallel()
	source := []byte("// Close waits for the write in hand.\nfunc (s *Store) Close(ctx context.Context) error {\n\treturn nil\n}\n")
	target := []byte("Closefunc (s *Store) Close(ctx context.Context) errorClose waits for the write in hand.")
	var tables deltaTables
	if got := len(tables.append(nil, source, target)); got > 20 {
		t.Errorf("a target that stands in the source takes %d bytes", got)
	}
}

func FuzzApplyDelta(f *testing.F) {
	var tables deltaTables
	source := []byte("func (s *Store) Close() error")
	f.Add(source, tables.append(nil, source, []byte("Closefunc (s *Store) Close() error")))
	f.Add([]byte{}, []byte{})
	f.Add(source, []byte{3, 0, 200, 0})
	f.Fuzz(func(t *testing.T, source, delta []byte) {
		if _, err := applyDelta(source, delta); err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("error without a name: %v", err)
		}
	})
}

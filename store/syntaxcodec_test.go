package store_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

func exampleSyntax() store.Syntax {
	return store.Syntax{
		Cut: store.CutGrammar,
		Chunks: []store.Chunk{
			{Start: 0, End: 40, StartLine: 1, EndLine: 3, TextHash: merkle.Hash{1, 2}},
			{Start: 40, End: 900, StartLine: 4, EndLine: 30, Breadcrumb: "type Server > method Close"},
		},
		Definitions: []store.Definition{
			{Name: "Server", Kind: "struct", Signature: "type Server struct", Doc: "Server serves.", Start: 4, End: 30, StartLine: 1, EndLine: 2, Parent: -1},
			{Name: "Close", Kind: "method", Start: 41, End: 800, StartLine: 4, EndLine: 29, Parent: 0},
		},
		References: []store.Reference{
			{Name: "fmt", Kind: store.RefImport, Line: 1, From: -1},
			{Name: "fmt.Errorf", Kind: store.RefCall, Line: 9, From: 1},
			{Name: "fmt", Kind: store.RefType, Line: 2, From: 0},
		},
	}
}

func TestSyntaxCodecRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawSyntax(t)
		data := store.AppendSyntax([]byte("before"), want)
		got, err := store.DecodeSyntax(bytes.TrimPrefix(data, []byte("before")))
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("decoded syntax differs (-want +got):\n%s", diff)
		}
	})
}

func drawSyntax(t *rapid.T) store.Syntax {
	word := rapid.SampledFrom([]string{"", "a", "Server", "http.Get", "x\x00y", "\xff\xfe"})
	u32 := rapid.Uint32()
	return store.Syntax{
		Cut: rapid.SampledFrom([]store.Cut{"", store.CutGrammar, store.CutLines}).Draw(t, "cut"),
		Chunks: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Chunk {
			return store.Chunk{
				Start: u32.Draw(t, "start"), End: u32.Draw(t, "end"),
				StartLine: u32.Draw(t, "line"), EndLine: u32.Draw(t, "end line"),
				Breadcrumb: word.Draw(t, "breadcrumb"),
				TextHash:   merkle.Hash{rapid.Byte().Draw(t, "hash")},
			}
		}), 0, 5).Draw(t, "chunks"),
		Definitions: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Definition {
			return store.Definition{
				Name: word.Draw(t, "name"), Kind: word.Draw(t, "kind"),
				Signature: word.Draw(t, "signature"), Doc: word.Draw(t, "doc"),
				Start: u32.Draw(t, "start"), End: u32.Draw(t, "end"),
				StartLine: u32.Draw(t, "line"), EndLine: u32.Draw(t, "end line"),
				Parent: rapid.Int32().Draw(t, "parent"),
			}
		}), 0, 5).Draw(t, "definitions"),
		References: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Reference {
			return store.Reference{
				Name: word.Draw(t, "name"), Kind: store.ReferenceKind(rapid.Byte().Draw(t, "kind")),
				Line: u32.Draw(t, "line"), From: rapid.Int32().Draw(t, "from"),
			}
		}), 0, 5).Draw(t, "references"),
	}
}

func TestSyntaxCodecRefusesDamage(t *testing.T) {
	t.Parallel()
	data := store.AppendSyntax(nil, exampleSyntax())
	for n := range data {
		if _, err := store.DecodeSyntax(data[:n]); !errors.Is(err, store.ErrBadSyntax) {
			t.Errorf("decode of the first %d of %d bytes: %v, want ErrBadSyntax", n, len(data), err)
		}
	}
	cases := map[string][]byte{
		"empty":           {},
		"another version": append([]byte{2}, data[1:]...),
		"trailing byte":   append(bytes.Clone(data), 0),
		"huge count":      {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"endless number":  bytes.Repeat([]byte{0xff}, 64),
	}
	for name, input := range cases {
		if _, err := store.DecodeSyntax(input); !errors.Is(err, store.ErrBadSyntax) {
			t.Errorf("%s: %v, want ErrBadSyntax", name, err)
		}
	}
}

func TestSyntaxCodecBoundsAllocation(t *testing.T) {
	// A count of as many references as there are bytes left is the largest a decoder may
	// believe; it may cost a small multiple of the input and no more.
	data := []byte{1, 1, 0, 0, 0, 0, 0x80, 0x80, 0x40}
	data = append(data, make([]byte, 4<<20)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := store.DecodeSyntax(data)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(20*len(data)) {
		t.Errorf("decoding %d bytes allocated %d (%v)", len(data), used, err)
	}
}

func FuzzDecodeSyntax(f *testing.F) {
	f.Add(store.AppendSyntax(nil, store.Syntax{}))
	f.Add(store.AppendSyntax(nil, exampleSyntax()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := store.DecodeSyntax(data)
		if err != nil {
			return
		}
		encoded := store.AppendSyntax(nil, s)
		again, err := store.DecodeSyntax(encoded)
		if err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("second round differs:\n%s", diff)
		}
	})
}

func BenchmarkSyntaxCodec(b *testing.B) {
	data := store.AppendSyntax(nil, exampleSyntax())
	b.Run("append", func(b *testing.B) {
		s := exampleSyntax()
		for b.Loop() {
			data = store.AppendSyntax(data[:0], s)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := store.DecodeSyntax(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package event

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// drawPath gives a path of any bytes that a file system takes, long ones among them.
func drawPath(t *rapid.T, label string) string {
	component := rapid.Custom(func(t *rapid.T) string {
		b := rapid.SliceOfN(rapid.Byte(), 1, 255).Draw(t, "bytes")
		for i, c := range b {
			if c == 0 || c == '/' {
				b[i] = 'x'
			}
		}
		if name := string(b); name != "." && name != ".." {
			return name
		}
		return "dots"
	})
	deep := rapid.SampledFrom([]int{1, 2, 3, 15}).Draw(t, "depth")
	return merkle.QuotePath(strings.Join(rapid.SliceOfN(component, deep, deep).Draw(t, label), "/"))
}

func drawFiles(t *rapid.T) []File {
	distinct := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) File {
		f := File{
			Path:     drawPath(t, "path"),
			Content:  hashOf(rapid.String().Draw(t, "content")),
			Size:     rapid.Int64Range(0, 1<<40).Draw(t, "size"),
			Language: rapid.SampledFrom([]string{"", "Go", "C++", "Jupyter Notebook"}).Draw(t, "language"),
			Flags:    store.FileFlags(rapid.Uint8().Draw(t, "flags")),
		}
		if rapid.Bool().Draw(t, "renamed") {
			f.From = drawPath(t, "from")
		}
		return f
	}), 0, 8).Draw(t, "files")
	var files []File
	for range rapid.SampledFrom([]int{1, 30, 120}).Draw(t, "repeats") {
		files = append(files, distinct...)
	}
	return files
}

// TestOpeningSurvivesItsEncoding draws openings and wants every event within the limits,
// numbered without a hole, and all files back in their order.
func TestOpeningSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		files := drawFiles(t)
		var removed []string
		for _, f := range drawFiles(t) {
			removed = append(removed, f.Path)
		}
		base := sampleBase()
		base.At = time.Unix(rapid.Int64Range(0, 1<<34).Draw(t, "at"), 12345).In(time.FixedZone("x", 3600))
		events := Opening(base, Opened{Parent: 11, Root: hashOf("root"), Recipe: sampleRecipe()}, files, removed)
		var gotFiles []File
		var gotRemoved []string
		seen := map[string]bool{}
		for i, e := range events {
			if e.Part != uint32(i) || seen[e.ID()] {
				t.Fatalf("event %d is part %d with id %s", i, e.Part, e.ID())
			}
			seen[e.ID()] = true
			data, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got); diff != "" {
				t.Fatalf("(-sent +got):\n%s", diff)
			}
			if e.Changed != nil {
				gotFiles = append(gotFiles, e.Changed.Files...)
			}
			if e.Removed != nil {
				gotRemoved = append(gotRemoved, e.Removed.Paths...)
			}
		}
		if diff := cmp.Diff(files, gotFiles); diff != "" {
			t.Fatalf("files (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(removed, gotRemoved); diff != "" {
			t.Fatalf("removed (-want +got):\n%s", diff)
		}
		if o := events[0].Opened; o.Changed != len(files) || o.Removed != len(removed) {
			t.Fatalf("opened counts %d and %d", o.Changed, o.Removed)
		}
	})
}

func TestSplitFilesFillsMessages(t *testing.T) {
	t.Parallel()
	worst := merkle.QuotePath(strings.Repeat(strings.Repeat("\xff", 255)+"/", 15) + strings.Repeat("\xff", 256))
	if len(worst) < 4*4000 {
		t.Fatalf("the worst path quotes to %d bytes only", len(worst))
	}
	repeat := func(n int, f File) []File {
		files := make([]File, n)
		for i := range files {
			files[i] = f
		}
		return files
	}
	content := hashOf("x")
	cases := []struct {
		name  string
		files []File
		want  []int
	}{
		{"none", nil, nil},
		{"one", repeat(1, File{Path: "a", Content: content}), []int{1}},
		{"exactly full by number", repeat(400, File{Path: "a", Content: content}), []int{200, 200}},
		{"one over", repeat(401, File{Path: "a", Content: content}), []int{200, 200, 1}},
		{"worst paths", repeat(25, File{Path: worst, Content: content}), []int{12, 12, 1}},
		{"worst renames", repeat(13, File{Path: worst, From: worst, Content: content}), []int{6, 6, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []int
			for i, run := range SplitFiles(c.files) {
				got = append(got, len(run))
				e := Chunked(Event{Codebase: "c", Snapshot: 1, Part: uint32(i + 1), Fingerprint: "f"}, run, time.Time{})
				if _, err := Encode(e); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIDTellsEventsApart(t *testing.T) {
	t.Parallel()
	base := sampleBase()
	later := base
	later.Snapshot++
	other := base
	other.Codebase = "c7k2m8"
	baseline := func(incarnation string) Event {
		return BaselineOf(Baseline{Incarnation: incarnation, Reason: "created"}, base.At)
	}
	parked := sampleParked()
	parked.Stage = store.StageEmbed
	all := append(samples(),
		openingUnder(later)[0], openingUnder(other)[0],
		SealedAt(base, Sealed{Level: "text"}), SealedAt(later, Sealed{Level: "full"}),
		ParkedFile(base, parked), ParkedFile(later, parked), baseline("b3"))
	seen := map[string]bool{}
	keys := map[[3]any]Type{}
	for _, e := range all {
		if seen[e.ID()] {
			t.Errorf("%s twice", e.ID())
		}
		seen[e.ID()] = true
		key := [3]any{e.Codebase, e.Snapshot, e.Part}
		if t0, dup := keys[key]; dup && e.Type != FilesChunked && e.Type != FilesEmbedded && e.Type != StreamBaseline {
			t.Errorf("%s and %s share codebase, snapshot and part", t0, e.Type)
		}
		keys[key] = e.Type
	}
	again := samples()[5]
	again.At = again.At.Add(time.Hour)
	again.Parked.Tries++
	if !seen[again.ID()] {
		t.Errorf("a repeat at another time has another id %s", again.ID())
	}
}

// openingUnder is an opening under another header.
func openingUnder(base Event) []Event {
	return Opening(base, Opened{Parent: 1}, sampleFiles(), nil)
}

// Events that are made again are others than those of any making before, however shortly
// before: the log drops an event whose ID it remembers.
func TestWorkMadeAgainHasIDsOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	began := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	for _, path := range []string{"a.go", "b.go"} {
		files := []File{{Path: path, Content: merkle.Hash{1}, Size: 1}}
		for _, after := range []time.Duration{0, 1, time.Microsecond, time.Millisecond, time.Second, 1 << 18 * time.Second} {
			base := Event{Codebase: "ca", Snapshot: 1, Fingerprint: "f", At: began.Add(after)}
			for _, e := range Again(base, files) {
				if seen[e.ID()] {
					t.Errorf("%s after %v has an ID that was taken: %s", path, after, e.ID())
				}
				seen[e.ID()] = true
				data, err := Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				if back, err := Decode(data); err != nil || back.Part < PartAgain || back.Part >= PartSealed {
					t.Errorf("decoded as part %d: %v", back.Part, err)
				}
			}
		}
	}
}

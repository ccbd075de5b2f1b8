package history_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

func opening(snapshot uint64, rebuild bool, changed []event.File, removed ...string) []event.Event {
	base := event.Event{Codebase: "ca", Snapshot: snapshot, Fingerprint: "f", At: time.Unix(1000, 0).UTC()}
	return event.Opening(base, event.Opened{Parent: snapshot - 1, Rebuild: rebuild}, changed, removed)
}

func file(path, text string) event.File {
	return event.File{Path: merkle.QuotePath(path), Content: hashOf(text), Size: int64(len(text))}
}

func hashOf(text string) (h merkle.Hash) {
	copy(h[:], text)
	return h
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := history.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	contents := [][]byte{[]byte("plain text\n"), {0xff, 0, 0xfe}, nil, []byte("plain text\n")}
	for _, c := range contents {
		if err := w.Content(c); err != nil {
			t.Fatal(err)
		}
	}
	events := opening(1, true, []event.File{file("a", "1"), file("b\n", "2")})
	for _, e := range events {
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Contents != 3 || w.Events != len(events) {
		t.Errorf("%d contents and %d events written, want 3 and %d", w.Contents, w.Events, len(events))
	}
	h, err := history.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(events, h.Events); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	if len(h.Contents) != 3 {
		t.Errorf("%d contents read, want 3", len(h.Contents))
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const head = `{"freshet_history":1}` + "\n"
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"another file", "hello\n"},
		{"a newer version", `{"freshet_history":2}` + "\n"},
		{"no event", head},
		{"a content of another hash", head + `{"content":"` + strings.Repeat("0", 64) + `","text":"x"}` + "\n"},
		{"a line of nothing", head + "{}\n"},
		{"an event that is none", head + `{"event":{"type":"no"}}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := history.Read(strings.NewReader(tt.text)); !errors.Is(err, history.ErrFormat) {
				t.Errorf("error %v, want ErrFormat", err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("../../testdata/histories/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := history.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := history.Fold(h.Events); err != nil && !errors.Is(err, history.ErrIncomplete) {
			t.Errorf("fold: %v", err)
		}
	})
}

func TestFold(t *testing.T) {
	t.Parallel()
	first := opening(1, true, []event.File{file("b", "1"), file("a", "1")})
	second := opening(2, false, []event.File{file("c", "2")}, "a")
	again := event.Again(event.Event{Codebase: "ca", Snapshot: 2, At: time.Unix(1000, 0)}, []event.File{file("c", "2")})
	events := slices.Concat(second, again, first, second)
	steps, err := history.Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != 2 || steps[0].Snapshot != 1 || steps[1].Snapshot != 2 {
		t.Fatalf("steps %+v, want those of snapshots 1 and 2", steps)
	}
	want := []store.FileEntry{{Path: "a", Content: hashOf("1"), Size: 1}, {Path: "b", Content: hashOf("1"), Size: 1}}
	if diff := cmp.Diff(want, steps[0].Changed); diff != "" {
		t.Errorf("files of the first step (-want +got):\n%s", diff)
	}
	if !slices.Equal(steps[1].Removed, []string{"a"}) || len(steps[1].Changed) != 1 {
		t.Errorf("second step %+v, want c changed and a removed", steps[1])
	}
	if _, err := history.Fold(second[1:]); !errors.Is(err, history.ErrIncomplete) {
		t.Errorf("without its opening: %v, want ErrIncomplete", err)
	}
	if _, err := history.Fold(second[:1]); !errors.Is(err, history.ErrIncomplete) {
		t.Errorf("without its files: %v, want ErrIncomplete", err)
	}
}

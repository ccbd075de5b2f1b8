package served

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/remote"
)

func service(t *testing.T) *remote.Service {
	t.Helper()
	s, err := remote.New(remote.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// slow is a wire that answers when its caller gives up.
type slow struct{}

func (slow) Embed(ctx context.Context, _ embedding.Kind, _ []string, _ int64) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestQueryHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Options{Wire: slow{}, Service: service(t), Name: "x", Model: "m", Dimension: 2})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = p.EmbedQuery(t.Context(), "q")
		if took := time.Since(began); !errors.Is(err, errSlow) || took != defaultQueryTimeout {
			t.Errorf("%v after %v, want %v after %v", err, took, errSlow, defaultQueryTimeout)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err = p.EmbedQuery(ctx, "q"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who gave up: %v", err)
		}
	})
}

func TestRecipeTellsModelsApart(t *testing.T) {
	t.Parallel()
	base := Options{Service: service(t), Name: "x", Model: "m", Dimension: 2, Artifact: "a", Shape: []string{"p", ""}}
	seen := map[string]string{}
	for name, change := range map[string]func(*Options){
		"none": func(*Options) {}, "name": func(o *Options) { o.Name = "y" }, "model": func(o *Options) { o.Model = "n" },
		"artifact": func(o *Options) { o.Artifact = "b" }, "dimension": func(o *Options) { o.Dimension = 3 },
		"query prefix": func(o *Options) { o.Shape = []string{"q", ""} }, "prefixes changed places": func(o *Options) { o.Shape = []string{"", "p"} },
	} {
		o := base
		change(&o)
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[p.Recipe().Key()]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[p.Recipe().Key()] = name
	}
	for _, dimension := range []int{0, -1, embedding.MaxDimension + 1} {
		if _, err := New(Options{Service: service(t), Dimension: dimension}); err == nil {
			t.Errorf("%d dimensions were accepted", dimension)
		}
	}
}

func TestQueriesForgetTheOldest(t *testing.T) {
	t.Parallel()
	var q queries
	for i := range keptQueries {
		q.put(fmt.Sprint(i), []float32{float32(i)})
	}
	if v, ok := q.get("0"); !ok || v[0] != 0 {
		t.Fatalf("the first query: %v, %v", v, ok)
	}
	q.put("new", []float32{1})
	if _, ok := q.get("1"); ok {
		t.Error("the one that was not asked for longest is kept")
	}
	if _, ok := q.get("0"); !ok {
		t.Error("one that was asked for again is forgotten")
	}
	if len(q.kept) != keptQueries || len(q.recent) != keptQueries {
		t.Errorf("%d and %d are kept", len(q.kept), len(q.recent))
	}
}

func FuzzClip(f *testing.F) {
	f.Add("ключ\x00\xff", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 0 || most > 1<<20 {
			return
		}
		got := clip(text, most)
		if len(got) > most || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("clip(%q, %d) = %q", text, most, got)
		}
		if utf8.ValidString(text) && len(text) <= most && got != strings.ReplaceAll(text, "\x00", "") {
			t.Errorf("clip(%q, %d) = %q", text, most, got)
		}
	})
}

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

// counting is a wire that counts how often each text is sent.
type counting map[string]int

func (c counting) Embed(_ context.Context, _ embedding.Kind, texts []string, _ int64) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		c[text]++
		out[i] = []float32{1, 0}
	}
	return out, nil
}

func TestQueriesEvictTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	sent := counting{}
	p, err := New(Options{Wire: sent, Service: service(t), Name: "x", Model: "m", Dimension: 2})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) {
		t.Helper()
		v, err := p.EmbedQuery(t.Context(), text)
		if err != nil || v[0] != 1 {
			t.Fatalf("%s: %v, %v", text, v, err)
		}
		v[0] = 7 // the caller's own
	}
	for i := range keptQueries {
		ask(fmt.Sprint(i))
	}
	for _, text := range []string{"0", "new", "1", "0"} {
		ask(text)
	}
	if sent["0"] != 1 || sent["1"] != 2 || sent["new"] != 1 {
		t.Errorf("sent 0 %d times, 1 %d times, new %d times; want once, twice, once", sent["0"], sent["1"], sent["new"])
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

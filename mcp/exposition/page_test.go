package exposition_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/mcp/exposition"
)

func text(t interface{ Fatal(args ...any) }, p *exposition.Page) string {
	var b strings.Builder
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPage compares a page with what the format asks for, letter by letter.
func TestPage(t *testing.T) {
	t.Parallel()
	calls := exposition.NewCounter(exposition.Family{Name: "calls_total", Help: `Calls\of "tools",` + "\nby outcome.", Labels: []string{"tool", "outcome"}})
	calls.Add(2, "b", "ok")
	calls.Add(1, "b", "ok")
	calls.Add(0, "a", "a \"b\" \\c\nd\xff")
	seconds := exposition.NewHistogram(exposition.Family{Name: "call_seconds", Help: "Latency."}, []float64{.1, 1})
	for _, v := range []float64{.05, .1, .5, 7} {
		seconds.Observe(v)
	}
	p := &exposition.Page{}
	p.Counters(calls, exposition.NewCounter(exposition.Family{Name: "none_total", Help: "Nothing."}))
	p.Histograms(seconds)
	p.Gauge(exposition.Family{Name: "lag", Help: "Lag.", Labels: []string{"codebase"}},
		exposition.Sample{Value: 1.5, Labels: []string{"x"}}, exposition.Sample{Value: math.Inf(1), Labels: []string{"y"}})
	const want = `# HELP calls_total Calls\\of "tools",\nby outcome.
# TYPE calls_total counter
calls_total{tool="a",outcome="a \"b\" \\c\nd"} 0
calls_total{tool="b",outcome="ok"} 3
# HELP none_total Nothing.
# TYPE none_total counter
none_total 0
# HELP call_seconds Latency.
# TYPE call_seconds histogram
call_seconds_bucket{le="0.1"} 2
call_seconds_bucket{le="1"} 3
call_seconds_bucket{le="+Inf"} 4
call_seconds_sum 7.65
call_seconds_count 4
# HELP lag Lag.
# TYPE lag gauge
lag{codebase="x"} 1.5
lag{codebase="y"} +Inf
`
	if diff := cmp.Diff(strings.Replace(want, `nd"} 0`, "nd\uFFFD\"} 0", 1), text(t, p)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"calls_total", "none_total", "call_seconds", "lag"}, p.Names()); diff != "" {
		t.Error(diff)
	}
}

// TestMistakesPanic: what a scraper would refuse is no page.
func TestMistakesPanic(t *testing.T) {
	t.Parallel()
	f := exposition.Family{Name: "x", Labels: []string{"a"}}
	for name, mistake := range map[string]func(){
		"values":         func() { exposition.NewCounter(f).Add(1) },
		"gauge":          func() { (&exposition.Page{}).Gauge(f, exposition.Sample{}) },
		"bounds":         func() { exposition.NewHistogram(f, []float64{2, 1}) },
		"a family twice": func() { p := &exposition.Page{}; p.Gauge(f); p.Gauge(f) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			mistake()
		}()
	}
}

// TestEveryLineIsRead reads pages of any labels and values back, line by line, as the format
// says, and finds each value.
func TestEveryLineIsRead(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`^[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*\})? (\S+)$`)
	rapid.Check(t, func(t *rapid.T) {
		h := exposition.NewHistogram(exposition.Family{Name: "h", Labels: []string{"l"}}, exposition.Seconds())
		label := rapid.String().Draw(t, "label")
		values := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 50).Draw(t, "values")
		for _, v := range values {
			h.Observe(v, label)
		}
		p := &exposition.Page{}
		p.Histograms(h)
		previous, buckets := 0.0, 0
		for l := range strings.Lines(text(t, p)) {
			l = strings.TrimSuffix(l, "\n")
			if strings.HasPrefix(l, "#") {
				continue
			}
			parts := line.FindStringSubmatch(l)
			if parts == nil {
				t.Fatalf("not of the format: %q", l)
			}
			value, err := strconv.ParseFloat(parts[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(l, "h_bucket") {
				if value < previous {
					t.Fatalf("a bucket holds less than the one before: %q", l)
				}
				previous, buckets = value, buckets+1
			}
			if strings.HasPrefix(l, "h_count") && (value != float64(len(values)) || previous != value) {
				t.Fatalf("%q, want %d", l, len(values))
			}
		}
		if buckets != len(exposition.Seconds())+1 {
			t.Fatalf("%d buckets", buckets)
		}
	})
}

// TestFromSeveralGoroutines counts and writes at once; the race detector looks on.
func TestFromSeveralGoroutines(t *testing.T) {
	t.Parallel()
	c := exposition.NewCounter(exposition.Family{Name: "c"})
	h := exposition.NewHistogram(exposition.Family{Name: "h"}, exposition.Minutes())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				c.Add(1)
				h.Observe(1)
				p := &exposition.Page{}
				p.Counters(c)
				p.Histograms(h)
			}
		})
	}
	all.Wait()
	p := &exposition.Page{}
	p.Counters(c)
	if got := text(t, p); !strings.Contains(got, "c 400\n") {
		t.Error(got)
	}
}

package exposition

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Family is a metric with its labels, without values.
type Family struct {
	Name, Help string
	Labels     []string
}

// key joins the values of the labels. It panics when there are more or fewer than labels,
// which is a mistake of the program.
func (f Family) key(values []string) string {
	if len(values) != len(f.Labels) {
		panic(fmt.Sprintf("metric %s has the labels %v, not %d values", f.Name, f.Labels, len(values)))
	}
	legible := make([]string, len(values))
	for i, v := range values {
		legible[i] = strings.ToValidUTF8(v, "\uFFFD") // the format allows nothing else
	}
	return strings.Join(legible, "\xff") // which is in no UTF-8
}

func (f Family) values(key string) []string {
	if len(f.Labels) == 0 {
		return nil
	}
	return strings.Split(key, "\xff")
}

// Counter is a family of counts that only grow. It may be used from several goroutines.
type Counter struct {
	family Family

	mu     sync.Mutex // guards counts
	counts map[string]float64
}

// NewCounter makes a counter. One without labels is served as 0 from the start.
func NewCounter(f Family) *Counter {
	c := &Counter{family: f, counts: map[string]float64{}}
	if len(f.Labels) == 0 {
		c.counts[""] = 0
	}
	return c
}

// Add adds n, which is not below 0, under the values of the labels in their order.
// Adding 0 has them served before anything happened.
func (c *Counter) Add(n float64, values ...string) {
	key := c.family.key(values)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[key] += n
}

// Histogram is a family of distributions. It may be used from several goroutines.
type Histogram struct {
	family Family
	bounds []float64

	mu    sync.Mutex // guards found
	found map[string]*distribution
}

// distribution is the values of one set of labels: how many are within each bound and not
// within the one before, and within none.
type distribution struct {
	buckets []uint64
	sum     float64
}

// NewHistogram makes a histogram whose buckets have the upper bounds, in rising order.
func NewHistogram(f Family, bounds []float64) *Histogram {
	if !slices.IsSorted(bounds) {
		panic("metric " + f.Name + " has bounds that do not rise")
	}
	return &Histogram{family: f, bounds: bounds, found: map[string]*distribution{}}
}

// Observe takes a value note of under the values of the labels in their order.
func (h *Histogram) Observe(value float64, values ...string) {
	key := h.family.key(values)
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.found[key]
	if d == nil {
		d = &distribution{buckets: make([]uint64, len(h.bounds)+1)}
		h.found[key] = d
	}
	within, _ := slices.BinarySearch(h.bounds, value) // the first bound that is not below it
	d.buckets[within]++
	d.sum += value
}

// Seconds are bounds for what takes a part of a second, up to half a minute.
func Seconds() []float64 { return []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30} }

// Minutes are bounds for what may take long, up to a quarter of a day.
func Minutes() []float64 { return []float64{.1, .3, 1, 3, 10, 30, 100, 300, 1000, 3600, 21600} }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

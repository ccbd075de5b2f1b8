package exposition

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of a page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page is one answer to who asks for metrics. It is used by one goroutine.
type Page struct {
	text strings.Builder
	seen []string
}

// Sample is one value of a gauge under the values of its labels.
type Sample struct {
	Value  float64
	Labels []string
}

// Counters adds counters.
func (p *Page) Counters(counters ...*Counter) {
	for _, c := range counters {
		p.head(c.family, "counter")
		c.mu.Lock()
		for _, key := range sorted(c.counts) {
			p.line(c.family.Name, c.family.Labels, c.family.values(key), c.counts[key])
		}
		c.mu.Unlock()
	}
}

// Histograms adds histograms.
func (p *Page) Histograms(histograms ...*Histogram) {
	for _, h := range histograms {
		p.head(h.family, "histogram")
		h.mu.Lock()
		for _, key := range sorted(h.found) {
			p.distribution(h, h.family.values(key), h.found[key])
		}
		h.mu.Unlock()
	}
}

// distribution writes buckets that each hold those before them. The caller holds h.mu.
func (p *Page) distribution(h *Histogram, values []string, d *distribution) {
	labels := append(slices.Clone(h.family.Labels), "le")
	total := uint64(0)
	for i, n := range d.buckets {
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		total += n
		p.line(h.family.Name+"_bucket", labels, append(slices.Clone(values), number(bound)), float64(total))
	}
	p.line(h.family.Name+"_sum", h.family.Labels, values, d.sum)
	p.line(h.family.Name+"_count", h.family.Labels, values, float64(total))
}

// Gauge adds a gauge with what was read now.
func (p *Page) Gauge(f Family, samples ...Sample) {
	p.head(f, "gauge")
	for _, s := range samples {
		p.line(f.Name, f.Labels, f.values(f.key(s.Labels)), s.Value)
	}
}

// Names lists the families of the page in their order.
func (p *Page) Names() []string { return slices.Clone(p.seen) }

// WriteTo writes the page.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, p.text.String())
	return int64(n), err
}

// head begins a family. It panics when the page has it: scrapers refuse such a page.
func (p *Page) head(f Family, kind string) {
	if slices.Contains(p.seen, f.Name) {
		panic("metric " + f.Name + " is on the page twice")
	}
	p.seen = append(p.seen, f.Name)
	fmt.Fprintf(&p.text, "# HELP %s %s\n# TYPE %s %s\n", f.Name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.Help), f.Name, kind)
}

func (p *Page) line(name string, labels, values []string, value float64) {
	p.text.WriteString(name)
	for i, label := range labels {
		p.text.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		p.text.WriteString(label + `="` + escape(values[i]) + `"`)
	}
	if len(labels) > 0 {
		p.text.WriteByte('}')
	}
	p.text.WriteString(" " + number(value) + "\n")
}

// escape makes a value fit for a label.
func escape(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(value)
}

// number writes a value as scrapers read it.
func number(value float64) string {
	switch {
	case math.IsInf(value, 1):
		return "+Inf"
	case math.IsInf(value, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// Bounds of a read.
const (
	MaxTargets   = 20
	MaxReadLines = 1000
)

// read shows files as they are on disk now, whatever the state of the index. A bad target
// among several costs only itself.
func (c *call) read(ctx context.Context, p ReadParams) error {
	if p.View == "" {
		p.View = ViewFull
	}
	switch {
	case len(p.Targets) == 0 || len(p.Targets) > MaxTargets:
		return Invalid("targets", fmt.Sprintf("give between 1 and %d", MaxTargets))
	case !slices.Contains(Views(), p.View):
		return Invalid("view", "unknown view "+string(p.View), allowed(Views())...)
	}
	options, err := p.options()
	if err != nil {
		return err
	}
	scope := p.Scope
	if scope.Codebase == "" {
		scope.Codebase = absoluteTarget(p.Targets[0])
	}
	b, err := c.resolve(ctx, scope)
	if err != nil {
		return err
	}
	view, err := c.viewOf(ctx, b, options)
	if err != nil {
		return err
	}
	r := reader{call: c, codebase: b, view: view, cwd: p.CWD, show: p.View}
	if view != nil && view.Snapshot.Fingerprint != "" {
		if r.outlines, err = outlinesOf(ctx, c.Contents, view.Snapshot.Fingerprint); err != nil {
			return err
		}
	}
	var first error
	for _, target := range p.Targets {
		item, err := r.target(ctx, target)
		if err == nil {
			r.items = append(r.items, item)
			continue
		}
		if first == nil {
			first = err
		}
		known := AsError(err)
		c.warn(string(known.Code), known.Message)
		c.env.NextSteps = append(c.env.NextSteps, known.NextSteps...)
		c.partial()
	}
	if len(r.items) == 0 {
		c.env.NextSteps = c.env.NextSteps[:0] // the error brings those of the first
		c.env.Warnings = slices.DeleteFunc(c.env.Warnings, func(w search.Warning) bool { return w.Message == AsError(first).Message })
		return first
	}
	if err := c.remember(ctx); err != nil {
		return err
	}
	r.page()
	return nil
}

// viewOf is the snapshot that live files are compared with, nil when there is none. A
// check that fails does not stop a read: the files are on the disk.
func (c *call) viewOf(ctx context.Context, b store.Codebase, o CheckOptions) (*store.View, error) {
	reading, err := c.check(ctx, b, o)
	if err == nil {
		return reading.View, nil
	}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil, err
	}
	known := AsError(err)
	c.warn(string(known.Code), known.Message)
	c.env.Freshness.Reason = known.Message
	c.partial()
	return nil, nil
}

// readItem is a target that was read.
type readItem struct {
	hit    Hit
	target string
	data   []byte // of the file, when the item may be cut to lines
	// next is the line to read on from, 0 when the item is whole; last is where the lines
	// that were asked for end, 0 for the end of the file.
	next, last int
}

// reader reads the targets of one call.
type reader struct {
	*call
	codebase store.Codebase
	view     *store.View // nil while nothing is sealed
	outlines *outlines   // nil without a view
	cwd      string
	show     View
	items    []readItem
}

// page gives the items to fit. What is left out is named in a next step.
func (r *reader) page() {
	steps := r.env.NextSteps
	shown := make([]Hit, 0, len(r.items))
	for _, item := range r.items {
		shown = append(shown, item.hit)
	}
	r.warnMasked(shown)
	r.mark(shown)
	for i, hit := range shown {
		shown[i] = project(hit, r.shape.Verbosity)
	}
	keep := func(n int) {
		e := r.env
		e.Results = shown[:n]
		e.TotalCount, e.ReturnedCount = len(r.items), n
		e.RemainingCount = len(r.items) - n
		e.HasMore = e.RemainingCount > 0
		e.NextSteps = append(slices.Clip(steps), r.rest(n)...)
	}
	r.call.page = &page{items: len(r.items), keep: keep, divide: func(fits func() bool) bool {
		first := &r.items[0]
		if first.data == nil || shown[0].Content == "" {
			return false
		}
		low, high := first.hit.StartLine, first.hit.EndLine // the last line fits at low-1, not at high
		for low < high {
			middle := (low + high) / 2
			r.cut(first, &shown[0], middle)
			keep(1)
			if fits() {
				low = middle + 1
			} else {
				high = middle
			}
		}
		if low == first.hit.StartLine {
			r.cut(first, &shown[0], low)
			keep(1)
			return false
		}
		r.cut(first, &shown[0], low-1)
		keep(1)
		return true
	}}
}

// cut ends an item at a line.
func (r *reader) cut(item *readItem, shown *Hit, last int) {
	shown.EndLine, shown.Content = last, excerpt(item.data, shown.StartLine, last)
	shown.ID = fmt.Sprintf("%s:%d-%d", shown.FilePath, shown.StartLine, last)
	item.next = last + 1
}

// rest is the step that reads on: what the first n items lack, and then the other targets.
func (r *reader) rest(n int) []NextStep {
	var targets []string
	for _, item := range r.items[:n] {
		if item.next > 0 {
			target := fmt.Sprintf("%s:%d-", item.hit.FilePath, item.next)
			if item.last > 0 {
				target += strconv.Itoa(item.last)
			}
			targets = append(targets, target)
		}
	}
	for _, item := range r.items[n:] {
		targets = append(targets, item.target)
	}
	if len(targets) == 0 {
		return nil
	}
	arguments := map[string]any{"targets": targets, "codebase": string(r.codebase.ID)}
	if r.show != ViewFull {
		arguments["view"] = string(r.show)
	}
	return []NextStep{{ToolRead, arguments, "reads on"}}
}

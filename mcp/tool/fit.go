package tool

import "sort"

// MaxChars is the most characters that an answer of a tool has, whatever its budget.
const MaxChars = 100_000

// charsPerToken is how many bytes of an answer count as a token.
const charsPerToken = 4

// inTokens is how many tokens a text of so many bytes counts.
func inTokens(size int) int { return (size + charsPerToken - 1) / charsPerToken }

// page is the list of an answer, which may be cut to whole items so that the answer fits.
type page struct {
	// items is how many there are to show.
	items int
	// keep leaves the first n in the envelope, with the counts and the cursor for the rest.
	keep func(n int)
	// divide is called when not even one item fits. It makes the first one smaller until
	// fits holds, and reports whether it could. It may be nil.
	divide func(fits func() bool) bool
}

// fit cuts the answer to its budget, counted on the text that is sent.
func (c *call) fit() error {
	p, budget := c.page, c.shape.MaxTokens
	if p == nil {
		p = &page{keep: func(int) {}}
	}
	e := c.env
	measure := func() int { // with room for the figures that tell of the size itself
		e.ApproxTokens = MaxMaxTokens
		return len(Render(e, string(c.shape.Format)))
	}
	e.OriginalSizeChars = 10 * MaxChars
	p.keep(p.items)
	whole := measure()
	e.OriginalSizeChars = whole
	if budget < 0 || inTokens(whole) <= budget || p.items == 0 {
		e.ApproxTokens = inTokens(whole)
		return nil
	}
	e.Truncated = true
	fits := func() bool { return inTokens(measure()) <= budget }
	n := sort.Search(p.items-1, func(i int) bool {
		p.keep(i + 1)
		return !fits()
	})
	if n == 0 {
		p.keep(1)
		if p.divide == nil || !p.divide(fits) {
			return c.tooSmall(inTokens(measure()))
		}
	} else {
		p.keep(n)
	}
	e.ApproxTokens = inTokens(measure())
	return nil
}

// tooSmall refuses a budget that not even one item fits, and names the one that would do.
func (c *call) tooSmall(needed int) *Error {
	c.page.keep(0)
	c.env.ReturnedCount, c.env.HasMore, c.env.NextCursor = 0, false, ""
	needed += needed / 20 // the counts and the cursor may grow
	e := Errorf(CodeBudgetTooSmall, "not even one item fits %d tokens; the first needs %d", c.shape.MaxTokens, needed).
		Detail("max_response_tokens", c.shape.MaxTokens).Detail("needed_tokens", needed)
	if c.repeat == nil {
		return e
	}
	step := NextStep{c.tool, map[string]any{}, "repeats the call with a budget that holds the first item"}
	change := map[string]any{"max_response_tokens": needed}
	if needed > MaxMaxTokens {
		change = map[string]any{"verbosity": string(VerbositySummary)}
		step.Why = "shows the items without their text; none of it fits the largest budget"
	}
	for key, value := range c.repeat {
		step.Arguments[key] = value
	}
	for key, value := range change {
		step.Arguments[key] = value
	}
	return e.Next(step)
}

package tool

import (
	"slices"

	"github.com/freshet/freshet/store/search"
)

func (c *call) warn(code, message string) {
	warning := search.Warning{Code: code, Message: message}
	if !slices.Contains(c.env.Warnings, warning) {
		c.env.Warnings = append(c.env.Warnings, warning)
	}
}

func (c *call) partial() { c.env.Status = StatusPartial }

// pass warns of what a check noticed.
func (c *call) pass(warnings []search.Warning) {
	for _, w := range warnings {
		c.warn(w.Code, w.Message)
	}
}

// step adds a next step to an answer, once.
func (c *call) step(s NextStep) {
	for _, has := range c.env.NextSteps {
		if compact(has) == compact(s) {
			return
		}
	}
	c.env.NextSteps = append(c.env.NextSteps, s)
}

package rerank

import "errors"

// Situation is what a decision is made of, for tests.
type Situation struct{ Local, TextLeaves, Failing, Fits bool }

// Refusal is the decision.
func Refusal(p Policy, s Situation) error {
	f := facts{host: "here", local: s.Local, textLeaves: s.TextLeaves}
	if s.Failing {
		f.slow = errors.New("slow")
	}
	if !s.Fits {
		f.unfit = errors.New("too long")
	}
	return f.refuse(p)
}

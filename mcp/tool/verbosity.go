package tool

import "slices"

// Verbosity says how much of each item an answer shows. The levels are projections of one
// result: the same items in the same order at each.
type Verbosity string

// The levels of verbosity.
const (
	VerbositySummary  Verbosity = "summary"
	VerbosityStandard Verbosity = "standard"
	VerbosityFull     Verbosity = "full"
)

// Verbosities lists the levels from the least to the most.
func Verbosities() []Verbosity {
	return []Verbosity{VerbositySummary, VerbosityStandard, VerbosityFull}
}

// Format is how an answer is written.
type Format string

// The formats.
const (
	FormatMarkdown Format = "markdown"
	FormatJSON     Format = "json"
)

// Formats lists the formats, the default first.
func Formats() []Format { return []Format{FormatMarkdown, FormatJSON} }

// shapely is implemented by parameters that say how the answer is to look.
type shapely interface{ wanted() Shape }

func (s *Shape) wanted() Shape { return *s }

// form takes over how the answer is to look. A wrong shape is refused in the nearest right
// one.
func (c *call) form(s Shape) error {
	given, err := s.checked(c.tool != "")
	c.shape.MaxTokens, c.shape.SessionID = given.MaxTokens, given.SessionID
	if slices.Contains(Verbosities(), given.Verbosity) {
		c.shape.Verbosity = given.Verbosity
	}
	if slices.Contains(Formats(), given.Format) {
		c.shape.Format = given.Format
	}
	if c.tool != "" {
		c.shape.MaxTokens = max(1, min(c.shape.MaxTokens, MaxMaxTokens))
	}
	return err
}

// checked fills the defaults of a shape and refuses what it may not be.
func (s Shape) checked(asTool bool) (Shape, error) {
	if s.Verbosity == "" {
		s.Verbosity = VerbosityStandard
		if !asTool {
			s.Verbosity = VerbosityFull
		}
	}
	if s.Format == "" {
		s.Format = FormatMarkdown
	}
	if s.MaxTokens == 0 {
		s.MaxTokens = DefaultMaxTokens
	}
	switch {
	case !slices.Contains(Verbosities(), s.Verbosity):
		return s, Invalid("verbosity", "unknown level "+string(s.Verbosity), allowed(Verbosities())...)
	case !slices.Contains(Formats(), s.Format):
		return s, Invalid("format", "unknown format "+string(s.Format), allowed(Formats())...)
	case asTool && (s.MaxTokens < 0 || s.MaxTokens > MaxMaxTokens):
		return s, Invalid("max_response_tokens", "must lie between 1 and 25000")
	}
	return s, nil
}

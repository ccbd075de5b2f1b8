package search

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxAlternatives bounds what the braces of one glob expand to.
const maxAlternatives = 64

// globs keeps a path that one of its patterns matches, or any path when all of them exclude,
// unless an excluding pattern matches. The patterns are those of doublestar.
type globs struct {
	keep, drop []string
}

func compileGlobs(patterns []string) (globs, error) {
	var out globs
	for _, pattern := range patterns {
		if len(pattern) > MaxGlobBytes {
			return globs{}, &BadQuery{Field: "paths", Message: fmt.Sprintf("a glob has %d bytes, at most %d", len(pattern), MaxGlobBytes)}
		}
		text, not := strings.CutPrefix(pattern, "!")
		alternatives := expandBraces(text)
		if strings.Trim(text, "/") == "" || len(alternatives) == 0 {
			return globs{}, &BadQuery{Field: "paths", Message: fmt.Sprintf("bad glob %q", pattern)}
		}
		for _, alternative := range alternatives {
			g := wholePath(alternative)
			if !doublestar.ValidatePattern(g) {
				return globs{}, &BadQuery{Field: "paths", Message: fmt.Sprintf("bad glob %q", pattern)}
			}
			if not {
				out.drop = append(out.drop, g)
			} else {
				out.keep = append(out.keep, g)
			}
		}
	}
	return out, nil
}

// wholePath makes a pattern match whole paths. A pattern with a slash is anchored at the
// root; one without matches at any depth. A pattern that ends in a plain name matches all
// below a folder of that name too.
func wholePath(pattern string) string {
	text := strings.Trim(strings.TrimPrefix(pattern, "./"), "/")
	if !strings.Contains(text, "/") && !strings.HasPrefix(pattern, "/") {
		text = "**/" + text
	}
	if last := text[strings.LastIndexByte(text, '/')+1:]; !strings.ContainsAny(last, `*?[\`) {
		text += "/**"
	}
	return strings.ReplaceAll(text, "{", "[{]") // expandBraces leaves one that is not closed
}

// expandBraces expands {a,b} and returns nil when there are too many alternatives.
func expandBraces(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	end := strings.IndexByte(pattern[open:], '}')
	if end < 0 {
		return []string{pattern}
	}
	var out []string
	for _, choice := range strings.Split(pattern[open+1:open+end], ",") {
		rest := expandBraces(pattern[:open] + choice + pattern[open+end+1:])
		if rest == nil || len(out)+len(rest) > maxAlternatives {
			return nil
		}
		out = append(out, rest...)
	}
	return out
}

func (g globs) match(path string) bool {
	if len(g.keep) > 0 && !matchesAny(g.keep, path) {
		return false
	}
	return !matchesAny(g.drop, path)
}

func matchesAny(patterns []string, path string) bool {
	for _, pattern := range patterns {
		if doublestar.MatchUnvalidated(pattern, path) {
			return true
		}
	}
	return false
}

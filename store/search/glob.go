package search

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxAlternatives bounds what the braces of one glob expand to.
const maxAlternatives = 64

// glob is one compiled pattern over paths: elements matched one by one, ** any number of
// them. A pattern with a slash is anchored at the root; one without matches at any depth.
// A pattern that ends in a plain name keeps all below a folder of that name too.
type glob struct {
	anywhere bool
	folder   bool // may match leading folders of a path
	elements []string
}

// globs keeps a path that one of its patterns matches, or any path when all of them take
// out, unless one that takes out matches.
type globs struct {
	keep, drop []glob
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
			g := glob{elements: strings.Split(strings.Trim(strings.TrimPrefix(alternative, "./"), "/"), "/")}
			g.anywhere = len(g.elements) == 1 && !strings.HasPrefix(alternative, "/")
			g.folder = !strings.ContainsAny(g.elements[len(g.elements)-1], `*?[\`)
			for _, element := range g.elements {
				if _, err := path.Match(element, ""); err != nil {
					return globs{}, &BadQuery{Field: "paths", Message: fmt.Sprintf("bad glob %q", pattern)}
				}
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

func (g globs) match(elements []string) bool {
	kept := len(g.keep) == 0
	for i := range g.keep {
		if kept = g.keep[i].match(elements); kept {
			break
		}
	}
	if !kept {
		return false
	}
	for i := range g.drop {
		if g.drop[i].match(elements) {
			return false
		}
	}
	return true
}

func (g *glob) match(elements []string) bool {
	if !g.anywhere {
		return matchElements(g.elements, elements, g.folder)
	}
	if !g.folder {
		return matchElement(g.elements[0], elements[len(elements)-1])
	}
	return slices.Contains(elements, g.elements[0])
}

// matchElements matches a whole path or, with folder, leading folders of it. It goes back
// only to the last **, which is enough and keeps the cost at pattern x path.
func matchElements(pattern, elements []string, folder bool) bool {
	p, e, star, mark := 0, 0, -1, 0
	for {
		switch {
		case p == len(pattern):
			if folder || e == len(elements) {
				return true
			}
		case pattern[p] == "**":
			star, mark = p, e
			p++
			continue
		case e < len(elements) && matchElement(pattern[p], elements[e]):
			p, e = p+1, e+1
			continue
		}
		if star < 0 || mark >= len(elements) {
			return false
		}
		mark++
		p, e = star+1, mark
	}
}

func matchElement(pattern, element string) bool {
	ok, err := path.Match(pattern, element)
	return ok && err == nil
}

package reference

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// removed counts the files that each filter alone would take away.
func removed(files []segment.File, q search.Query) map[string]int {
	out := map[string]int{}
	for name, alone := range map[string]search.Query{
		"paths": {Paths: q.Paths}, "languages": {Languages: q.Languages}, "kinds": {Kinds: q.Kinds},
	} {
		if len(alone.Paths)+len(alone.Languages)+len(alone.Kinds) == 0 {
			continue
		}
		out[name] = 0
		for i := range files {
			if !passes(&files[i], alone) {
				out[name]++
			}
		}
	}
	return out
}

// passes reports whether a file passes the filters.
func passes(f *segment.File, q search.Query) bool {
	if !passesPaths(f.Entry.Path, q.Paths) {
		return false
	}
	if len(q.Languages) > 0 && !slices.ContainsFunc(q.Languages, func(l string) bool {
		return strings.EqualFold(l, f.Entry.Language) || l == path.Ext(f.Entry.Path)
	}) {
		return false
	}
	for _, d := range f.Syntax.Definitions {
		if slices.Contains(q.Kinds, d.Kind) {
			return true
		}
	}
	return len(q.Kinds) == 0
}

func passesKinds(ch *chunk, q search.Query) bool {
	for _, d := range ch.file.Syntax.Definitions {
		if slices.Contains(q.Kinds, d.Kind) && chunkOf(ch.file, d) == ch.index {
			return true
		}
	}
	return len(q.Kinds) == 0
}

func passesPaths(name string, globs []string) bool {
	keep, positive := false, false
	for _, glob := range globs {
		if rest, not := strings.CutPrefix(glob, "!"); not {
			if matchGlob(rest, name) {
				return false
			}
			continue
		}
		positive = true
		keep = keep || matchGlob(glob, name)
	}
	return keep || !positive
}

// matchGlob turns a glob without brackets or braces into a regular expression.
func matchGlob(glob, name string) bool {
	trimmed := strings.Trim(glob, "/")
	elements := strings.Split(trimmed, "/")
	var b strings.Builder
	b.WriteString("^")
	if len(elements) == 1 && !strings.HasPrefix(glob, "/") {
		b.WriteString("(.*/)?")
	}
	for i, element := range elements {
		switch {
		case element == "**" && i == len(elements)-1:
			b.WriteString(".+")
		case element == "**":
			b.WriteString("(.+/)?")
		default:
			quoted := regexp.QuoteMeta(element)
			quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, "[^/]*"), `\?`, "[^/]")
			b.WriteString(quoted)
			if i < len(elements)-1 {
				b.WriteString("/")
			}
		}
	}
	if !strings.ContainsAny(elements[len(elements)-1], "*?") {
		b.WriteString("(/.*)?")
	}
	return regexp.MustCompile("(?s)" + b.String() + "$").MatchString(name)
}

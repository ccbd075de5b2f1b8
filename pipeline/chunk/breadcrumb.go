package chunk

import "strings"

// crumbSeparator stands between the parts of a breadcrumb.
const crumbSeparator = " > "

// maxCrumb and maxBreadcrumb bound the parts of a breadcrumb and the whole.
const (
	maxCrumb      = 100
	maxBreadcrumb = 300
)

// crumb is a definition's own part of the breadcrumb.
func (l language) crumb(s *symbol) string {
	switch {
	case s.title != "":
		return s.title
	case s.plain: // a field says less than what it belongs to
		return ""
	}
	word := s.kind
	if l.typeWord != "" && (word == "struct" || word == "interface") {
		word = l.typeWord
	}
	return joinCrumbs(s.owner, word+" "+clip(s.name, maxCrumb))
}

func joinCrumbs(group, crumb string) string {
	switch {
	case crumb == "":
		return group
	case group == "":
		return crumb
	case len(group)+len(crumb) > maxBreadcrumb:
		return group
	}
	return group + crumbSeparator + crumb
}

// breadcrumb is the longest one that most of the bytes of items lie under: of a chunk of
// one function that function, of several methods their class.
func breadcrumb(items []item) string {
	if len(items) == 1 {
		return items[0].crumb
	}
	common := ""
	for {
		longer, ok := majority(items, common)
		if !ok {
			return common
		}
		common = longer
	}
}

// majority is the breadcrumb one part longer than prefix that at least 60 % of the bytes
// of items lie under. The candidate is found by voting (Boyer and Moore, 1981).
func majority(items []item, prefix string) (string, bool) {
	candidate, votes, total := "", 0, 0
	for _, it := range items {
		longer := lengthen(prefix, it.crumb)
		total += it.bytes()
		switch {
		case longer == candidate:
			votes += it.bytes()
		case votes >= it.bytes():
			votes -= it.bytes()
		default:
			candidate, votes = longer, it.bytes()-votes
		}
	}
	if candidate == "" {
		return "", false
	}
	size := 0
	for _, it := range items {
		if lengthen(prefix, it.crumb) == candidate {
			size += it.bytes()
		}
	}
	return candidate, 10*size >= 6*total
}

// lengthen is the part of crumb that is one part longer than prefix, or "" if crumb is not
// below prefix.
func lengthen(prefix, crumb string) string {
	start := len(prefix)
	if prefix != "" {
		if !strings.HasPrefix(crumb, prefix+crumbSeparator) {
			return ""
		}
		start += len(crumbSeparator)
	}
	if i := strings.Index(crumb[start:], crumbSeparator); i >= 0 {
		return crumb[:start+i]
	}
	return crumb
}

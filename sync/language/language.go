package language

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-enry/go-enry/v2/data"
)

// ByName returns the languages that a file of a name may be written in: by the whole name
// when it is known, and otherwise by its longest known extension, in any case. The slice is
// not to be changed.
func ByName(base string) []string {
	if known := data.LanguagesByFilename[base]; len(known) > 0 {
		return known
	}
	return byExtension(base)
}

func byExtension(base string) []string {
	lower := strings.ToLower(base)
	for i, letter := range lower {
		if letter == '.' {
			if known, ok := data.LanguagesByExtension[lower[i:]]; ok {
				return known
			}
		}
	}
	return nil
}

// ByAlias returns the language that a name or one of its other names, in any case, stands
// for.
func ByAlias(name string) (string, bool) { return data.LanguageByAlias(name) }

// Of returns the language of a file, "" when it is unknown. It asks first what costs a
// look-up, and for the head of the file only when names leave a choice.
func Of(base string, head []byte) string {
	candidates := ByName(base)
	if len(candidates) == 1 {
		return candidates[0]
	}
	if len(candidates) > 1 {
		if name, ok := preferred(path.Ext(base), head); ok {
			return name
		}
	}
	if spoken := byInterpreter(head); len(candidates) == 0 || len(spoken) == 1 {
		return first(spoken)
	}
	if h, ok := data.ContentHeuristics[strings.ToLower(path.Ext(base))]; ok {
		if found := h.Match(head); len(found) > 0 {
			return commonest(found)
		}
	}
	return commonest(candidates)
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// common are languages, the commoner ones first, that share their extensions with others.
var common = []string{
	"C++", "C", "Objective-C", "Perl", "MATLAB", "R", "Fortran", "Fortran Free Form", "Prolog", "Verilog", "Coq", "F#", "Common Lisp",
	"OCaml", "Pascal", "Groff", "Roff", "D", "PHP", "Hack", "Ruby", "Visual Basic .NET", "VBA", "Assembly", "Makefile", "Text",
}

// commonest chooses where nothing is left to decide by: a language of common, or else the
// first.
func commonest(candidates []string) string {
	for _, language := range common {
		if slices.Contains(candidates, language) {
			return language
		}
	}
	return first(candidates)
}

var versioned = regexp.MustCompile(`^(python|ruby|perl|php|lua|node|tclsh)[-\d.]+$`)

// byInterpreter returns the languages of the interpreter that a file's first line names.
func byInterpreter(head []byte) []string {
	line, found := bytes.CutPrefix(head, []byte("#!"))
	if !found {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return nil
	}
	name := path.Base(words[0])
	if known := data.LanguagesByInterpreter[name]; len(known) > 0 {
		return known
	}
	if m := versioned.FindStringSubmatch(name); m != nil {
		return data.LanguagesByInterpreter[m[1]]
	}
	return nil
}

// IsVendored reports whether a path is that of a file which is usually copied from elsewhere.
func IsVendored(name string) bool { return data.FastVendorMatcher.MatchString(name) }

// IsDocumentation reports whether a path is that of a document.
func IsDocumentation(name string) bool {
	return slices.ContainsFunc(data.DocumentationMatchers, func(e *regexp.Regexp) bool { return e.MatchString(name) })
}

// IsGenerated reports whether a file is one that a program writes, by its path or by what
// such programs put into it.
func IsGenerated(name string, content []byte) bool {
	ext := strings.ToLower(path.Ext(name))
	if _, ok := data.GeneratedCodeExtensions[ext]; ok {
		return true
	}
	for _, matches := range data.GeneratedCodeNameMatchers {
		if matches(name) {
			return true
		}
	}
	lower := strings.ToLower(name)
	for _, matches := range data.GeneratedCodeMatchers {
		if matches(lower, ext, content) {
			return true
		}
	}
	return false
}

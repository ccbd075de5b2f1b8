package search

import (
	"bytes"

	"github.com/freshet/freshet/store/lexical"
)

// traits are what the ranking asks of a file's path and language. They are the same for
// every query.
type traits struct {
	stem                            []string // the words of stemPath
	depth                           float64  // depthShare
	data, declares, example, legacy bool
}

// traitsOf returns the traits of a file, computed when they are first asked for.
func (o *opened) traitsOf(file int) *traits {
	if t := o.traits[file].Load(); t != nil {
		return t
	}
	path := o.Path(file)
	t := &traits{
		stem: lexical.StemTokens(string(stemPath(path))), depth: depthShare(path),
		data: isData(o.Language(file)), declares: declares(path),
	}
	for len(path) > 0 {
		element, rest, _ := bytes.Cut(path, []byte("/"))
		path = rest
		switch string(bytes.ToLower(element)) {
		case "example", "examples", "_examples", "demo", "demos", "samples":
			t.example = true
		case "legacy", "deprecated", "compat", "_compat":
			t.legacy = true
		}
	}
	o.traits[file].Store(t) // whoever else computed it has the same
	return t
}

// stemPath is the path whose stem says what a file is about: its folder's for a file that
// stands for its folder.
func stemPath(path []byte) []byte {
	slash := bytes.LastIndexByte(path, '/')
	if slash < 0 {
		return path
	}
	name, _, _ := bytes.Cut(path[slash+1:], []byte("."))
	switch string(name) {
	case "index", "init", "lib", "main", "mod", "__init__":
		return append(bytes.Clone(path[:slash]), '.') // the folder's own dots are no extension
	}
	return path
}

// deepest is the depth from which on files count as equally deep.
const deepest = 6

// depthShare says how deep in folders a file is, 1 for the deepest.
func depthShare(path []byte) float64 {
	return float64(min(bytes.Count(path, []byte("/")), deepest)) / deepest
}

// isData reports whether a language, in go-enry's name, holds no code.
func isData(language []byte) bool {
	switch string(language) {
	case "", "Text", "JSON", "JSON with Comments", "YAML", "TOML", "XML", "INI", "CSV", "SVG":
		return true
	}
	return false
}

// declares reports whether a file is likely to declare what another one implements.
func declares(path []byte) bool {
	for _, ending := range []string{".d.ts", ".pyi", ".h", ".hh", ".hpp", ".hxx"} {
		if bytes.HasSuffix(path, []byte(ending)) {
			return true
		}
	}
	return false
}

package mine

import (
	"path"
	"strings"
)

// language is how the comments of a language look.
type language struct {
	name        string
	line        []string // what begins a comment to the end of the line
	open, close string   // what encloses a comment of several lines
	docstrings  bool     // a string below the line of a definition documents it
	paragraphs  bool     // a body ends at a blank line rather than by indentation
}

func languages() map[string]*language {
	c := func(name string) *language {
		return &language{name: name, line: []string{"//"}, open: "/*", close: "*/"}
	}
	hash := func(name string) *language { return &language{name: name, line: []string{"#"}} }
	python, ruby := hash("python"), hash("ruby")
	python.docstrings, python.open, python.close = true, `"""`, `"""`
	ruby.open, ruby.close = "=begin", "=end"
	elixir := hash("elixir")
	elixir.open, elixir.close = `"""`, `"""`
	perl := hash("perl")
	perl.open, perl.close = "=head", "=cut"
	php := c("php")
	php.line = []string{"//", "#"}
	haskell := &language{name: "haskell", line: []string{"--"}, open: "{-", close: "-}", paragraphs: true}
	lua := &language{name: "lua", line: []string{"--"}, open: "--[[", close: "]]"}
	lisp := &language{name: "lisp", line: []string{";"}}
	ml := &language{name: "ocaml", open: "(*", close: "*)", paragraphs: true}
	return byExtension([]extensions{
		{c("c"), ".c .h"}, {c("cpp"), ".cc .cpp .cxx .hh .hpp .hxx .ipp"}, {c("csharp"), ".cs"},
		{c("dart"), ".dart"}, {c("go"), ".go"}, {c("groovy"), ".groovy .gradle"}, {c("java"), ".java"},
		{c("javascript"), ".js .jsx .mjs .cjs"}, {c("kotlin"), ".kt .kts"}, {php, ".php"},
		{c("proto"), ".proto"}, {c("rust"), ".rs"}, {c("scala"), ".scala"}, {c("swift"), ".swift"},
		{c("typescript"), ".ts .tsx .mts .cts"}, {c("zig"), ".zig"}, {c("objc"), ".m .mm"},
		{python, ".py .pyi .pyx"}, {ruby, ".rb .rake"}, {hash("shell"), ".sh .bash .zsh .bats .ksh"},
		{elixir, ".ex .exs"}, {perl, ".pl .pm"}, {hash("r"), ".r .R"}, {hash("julia"), ".jl"},
		{hash("nim"), ".nim"}, {hash("cmake"), ".cmake"}, {haskell, ".hs"}, {lua, ".lua"},
		{lisp, ".el .lisp .clj .cljs .cljc .scm"}, {&language{name: "erlang", line: []string{"%"}}, ".erl .hrl"},
		{ml, ".ml .mli"}, {&language{name: "sql", line: []string{"--"}, open: "/*", close: "*/"}, ".sql"},
		{&language{name: "vim", line: []string{`"`}}, ".vim"},
		{&language{name: "markdown"}, ".md .markdown"},
	})
}

type extensions struct {
	language *language
	names    string
}

func byExtension(all []extensions) map[string]*language {
	out := map[string]*language{}
	for _, e := range all {
		for _, extension := range strings.Fields(e.names) {
			out[extension] = e.language
		}
	}
	return out
}

// maxFile is the most bytes of a file that is read.
const maxFile = 1 << 20

// skipped are folders of code that others wrote, or that nobody reads.
func skipped() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`vendor vendored _vendor node_modules third_party thirdparty third-party
		3rdparty 3rd-party extern external externals deps bundled testdata fixtures fixture __snapshots__ snapshots
		dist min .git debian locale locales i18n po translations cldr data migrations generated gen`) {
		out[name] = true
	}
	return out
}

// languageOf returns the language of a path, or nil for a file that is not read.
func (m *Miner) languageOf(name string) *language {
	for folder := path.Dir(name); folder != "." && folder != "/"; folder = path.Dir(folder) {
		if m.skipped[path.Base(folder)] {
			return nil
		}
	}
	base := path.Base(name)
	if strings.Contains(base, ".min.") || strings.Contains(base, ".pb.") || strings.HasSuffix(base, ".d.ts") ||
		strings.HasSuffix(base, "_pb2.py") || strings.HasPrefix(base, "zz_generated") {
		return nil
	}
	return m.languages[path.Ext(base)]
}

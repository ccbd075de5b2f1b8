package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// glossaryRow is a row of one of the tables of the section Words in docs/architecture.md.
var glossaryRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`)

// quotedFolder is a package that a row of the glossary names.
var quotedFolder = regexp.MustCompile("`((?:cmd|mcp|pipeline|store|sync)(?:/[a-z]+)*)`")

// TestGlossaryIsOfTheCode: each term of the glossary stands in a name or a comment of the
// packages that its row names, or of any package when it names none, so that somebody who
// searches for the term finds the code.
func TestGlossaryIsOfTheCode(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	text := readText(t, root, "docs/architecture.md")
	_, text, _ = strings.Cut(text, "\n## Words\n")
	text, _, _ = strings.Cut(text, "\n## ")
	sources := map[string]string{} // by folder, in lower case
	for _, file := range readSources(t, root) {
		if !file.test {
			sources[file.dir] += strings.ToLower(readText(t, root, file.path))
		}
	}
	rows := 0
	for _, row := range glossaryRow.FindAllStringSubmatch(text, -1) {
		if row[1] == "word" || row[1] == "term" || strings.HasPrefix(row[1], "---") {
			continue
		}
		rows++
		var dirs []string
		for _, m := range quotedFolder.FindAllStringSubmatch(row[2], -1) {
			if _, ok := sources[m[1]]; !ok {
				t.Errorf("%s: there is no package %s", row[1], m[1])
			}
			dirs = append(dirs, m[1])
		}
		for _, term := range strings.Split(row[1], ", ") {
			if !stands(sources, dirs, strings.ToLower(term)) {
				t.Errorf("the term %q is in no name or comment of %s", term, strings.Join(dirs, ", "))
			}
		}
	}
	if rows < 20 {
		t.Errorf("the glossary has %d rows", rows)
	}
}

// stands reports whether a term is in the sources of one of the folders, or of any when
// there are none: as it is, as one word, or over a line end of a comment.
func stands(sources map[string]string, dirs []string, term string) bool {
	pattern := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(term), " ", `(?:[ -]?|\s+//\s*)`))
	for dir, text := range sources {
		if (len(dirs) == 0 || slices.Contains(dirs, dir)) && pattern.MatchString(text) {
			return true
		}
	}
	return false
}

// packageSentence is how the comment of a package begins: what it owns, does or is.
var packageSentence = regexp.MustCompile(`^(Package [a-z]+|Command [a-z]+|Freshet) [a-z]+[,:]? \S+`)

// TestPackagesSayWhatTheyProvide: every package has a comment whose first sentence has the
// package for its subject.
func TestPackagesSayWhatTheyProvide(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	docs := map[string]string{}
	for _, source := range readSources(t, root) {
		if source.test || strings.Contains(source.dir, "testdata") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source.path, readText(t, root, source.path), parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		docs[source.dir] += doc(file)
	}
	for dir, text := range docs {
		if !packageSentence.MatchString(text) {
			t.Errorf("the comment of the package in %s does not say what it provides: %.80q", dir, text)
		}
	}
}

func doc(file *ast.File) string {
	if file.Doc == nil {
		return ""
	}
	return file.Doc.Text()
}

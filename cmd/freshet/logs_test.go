package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/cli"
)

// bareVerbs begin messages that say what was tried, not what happened.
var bareVerbs = regexp.MustCompile(`^(answer|ask|begin|close|compact|create|delete|dismiss|drop|end|flush|follow|get|give|hear|index|keep|load|make|open|publish|put|read|reconcile|remove|requeue|send|settle|start|stop|sum|take|wait|write)\b`)

// statement has the predicate of a message that begins with a noun of the same form.
var statement = regexp.MustCompile(`\b(failed|not|taken)\b`)

// TestLogMessagesAreStatements: a message says what happened, so it has a subject and a verb
// and is a constant.
func TestLogMessagesAreStatements(t *testing.T) {
	t.Parallel()
	root, found := os.DirFS("../.."), 0
	for _, file := range readSources(t, root) {
		if file.test {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "", readText(t, root, file.path), 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			message, ok := logMessage(n)
			if !ok {
				return true
			}
			found++
			if !strings.Contains(message, " ") || bareVerbs.MatchString(message) && !statement.MatchString(message) {
				t.Errorf("%s: the log message %q is no statement of what happened", file.path, message)
			}
			return true
		})
	}
	if found < 80 {
		t.Errorf("%d log messages found: the test does not see them", found)
	}
}

// logMessage is the constant message of a call of a logger.
func logMessage(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, method.Sel.Name) {
		return "", false
	}
	if on, ok := method.X.(*ast.Ident); ok && on.Name == "t" {
		return "", false
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	message, err := strconv.Unquote(literal.Value)
	return message, err == nil
}

// variableName is a whole name of a variable of freshet.
var variableName = regexp.MustCompile(`FRESHET_[A-Z_]*[A-Z]`)

// variableRow is a row of the table of variables in README.md.
var variableRow = regexp.MustCompile("(?m)^\\| (`FRESHET_[^|]*) \\| [^|]* \\|$")

// TestVariablesAreThoseOfTheReadme: the table of variables in README.md lists the known ones,
// every name in the documents and the sources is among them, and each of them is read.
func TestVariablesAreThoseOfTheReadme(t *testing.T) {
	t.Parallel()
	root, known := os.DirFS("../.."), cli.Variables()
	_, section, ok := strings.Cut(readText(t, root, "README.md"), "| variables | of what |\n")
	if !ok {
		t.Fatal("README.md has no table of variables")
	}
	section, _, _ = strings.Cut(section, "\n\n")
	var listed []string
	for _, row := range variableRow.FindAllStringSubmatch(section, -1) {
		listed = append(listed, variableName.FindAllString(row[1], -1)...)
	}
	if !slices.Equal(listed, known) {
		t.Errorf("README.md lists\n%q\nand package cli\n%q", listed, known)
	}
	named := map[string]bool{}
	compose := readText(t, root, "docker-compose.yml")
	for _, name := range variableName.FindAllString(compose, -1) {
		named[name] = true
	}
	for _, file := range readSources(t, root) {
		if file.test || file.path == "cmd/cli/environment.go" {
			continue
		}
		for _, name := range variableName.FindAllString(readText(t, root, file.path), -1) {
			named[name] = true
		}
	}
	for _, name := range known {
		if !named[name] {
			t.Errorf("%s is listed and nothing reads it", name)
		}
	}
	for _, d := range readDocuments(t, root) {
		for _, name := range variableName.FindAllString(d.text, -1) {
			named[name] = true
		}
	}
	for name := range named {
		ofTests := regexp.MustCompile(`^FRESHET_(TEST|BENCH)_`).MatchString(name)
		prefix := slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, name+"_") })
		if !ofTests && !prefix && !slices.Contains(known, name) {
			t.Errorf("%s is named and package cli does not list it", name)
		}
	}
}

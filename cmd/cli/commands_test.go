package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// said is a command of freshet that the program tells somebody to run.
type said struct {
	place, command string
	// prose says that what follows the verb and its flags may be the rest of a sentence.
	prose bool
}

// command finds "freshet VERB ..." in a text, up to where the command ends: at a backtick, a
// bracket, the end of a clause or a letter that no argument begins with.
var command = regexp.MustCompile(`freshet((?: +(?:-{1,2}[a-z][a-z-]*|%[sdvq]|[a-z][a-z-]*|[A-Z]+|\.))+)`)

// saidCommands reads the string literals of the program, joined where they are added up, for
// the commands that they name: in backticks, as the command of a next step, or by a verb that
// there is.
func saidCommands(t *testing.T) []said {
	t.Helper()
	root := filepath.Join("..", "..")
	quoted := regexp.MustCompile("`(freshet [^`]*)`")
	verbs := []string{}
	for _, cmd := range (&run{}).root().Commands() {
		verbs = append(verbs, cmd.Name())
	}
	named := regexp.MustCompile("(?:^|[^`])(freshet (?:" + strings.Join(verbs, "|") + ")\\b[^`\n]*)")
	var found []said
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata") {
			return errSkip(err)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if line, ok := commandOf(n); ok {
				found = append(found, said{path + ":" + strconv.Itoa(set.Position(n.Pos()).Line), line, false})
				return false
			}
			text, ok := literal(n)
			if !ok {
				return true
			}
			place := path + ":" + strconv.Itoa(set.Position(n.Pos()).Line)
			for _, m := range named.FindAllStringSubmatch(text, -1) {
				found = append(found, said{place, m[1], true})
			}
			for _, m := range quoted.FindAllStringSubmatch(text, -1) {
				found = append(found, said{place, m[1], false})
			}
			return false
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// commandOf is the command of freshet that a next step is made of.
func commandOf(n ast.Node) (string, bool) {
	var line ast.Expr
	switch e := n.(type) {
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		if of, selected := e.Fun.(*ast.SelectorExpr); selected {
			name, ok = of.Sel, true
		}
		if ok && len(e.Args) > 0 && (strings.EqualFold(name.Name, "command") || name.Name == "commandStep") {
			line = e.Args[0]
		}
	case *ast.KeyValueExpr:
		if key, ok := literal(e.Key); ok && key == "command" {
			line = e.Value
		}
	}
	if line == nil {
		return "", false
	}
	text, ok := literal(line)
	return text, ok && strings.HasPrefix(text, "freshet ")
}

func errSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// literal is the text of a string literal, or of several that are added up; what is not
// written there stands as an operand.
func literal(n ast.Node) (string, bool) {
	switch e := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, okLeft := literal(e.X)
		right, okRight := literal(e.Y)
		if e.Op != token.ADD || !okLeft && !okRight {
			return "", false
		}
		if !okLeft {
			left = "OPERAND"
		}
		if !okRight {
			right = "OPERAND"
		}
		return left + right, true
	}
	return "", false
}

// TestCommandsThatAreSaidExist: each command of freshet that a sentence or a next step of the
// program names has a verb and flags that there are, and takes the operands.
func TestCommandsThatAreSaidExist(t *testing.T) {
	t.Parallel()
	all := saidCommands(t)
	if len(all) < 20 {
		t.Fatalf("found only %d commands", len(all))
	}
	verbs := map[string]bool{}
	for _, s := range all {
		m := command.FindStringSubmatch(s.command)
		if m == nil {
			t.Errorf("%s: no verb in %q", s.place, s.command)
			continue
		}
		args := strings.Fields(regexp.MustCompile(`%[sdvq]`).ReplaceAllString(m[1], "OPERAND"))
		if s.prose {
			args = append(args[:1], regexp.MustCompile(`--[a-z-]*[a-z]`).FindAllString(s.command, -1)...)
		}
		if problem := parses(t, args); problem != "" {
			t.Errorf("%s: %q: %s", s.place, s.command, problem)
		}
		verbs[args[0]] = true
	}
	for _, verb := range []string{"verify", "index", "status", "doctor", "gc", "clear"} {
		if !verbs[verb] {
			t.Errorf("no sentence names %s: the walk does not find them", verb)
		}
	}
}

// parses says what is wrong with the arguments of a command line, "" when it can be run.
func parses(t *testing.T, args []string) string {
	t.Helper()
	r := &run{Program: Program{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: "/", Home: t.TempDir(), Build: tool.Build{}}}
	root := r.root()
	cmd, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err.Error()
	case cmd == root:
		return "there is no such verb"
	}
	var whole []string
	for i, word := range rest { // a flag that takes a value may be named alone in a sentence
		whole = append(whole, word)
		alone := i == len(rest)-1 || strings.HasPrefix(rest[i+1], "-")
		if flag := cmd.Flag(strings.TrimPrefix(word, "--")); flag != nil && flag.NoOptDefVal == "" && alone && strings.HasPrefix(word, "--") {
			whole = append(whole, "1")
		}
	}
	rest = whole
	if err := cmd.ParseFlags(rest); err != nil {
		return err.Error()
	}
	return judge(cmd)
}

// judge is what the verb says of too many operands: too few may be left out of a sentence.
func judge(cmd *cobra.Command) string {
	if len(cmd.Flags().Args()) == 0 {
		return ""
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}

// TestStepsAreCommands: what a next step of a tool is on the command line has a verb and
// flags that there are.
func TestStepsAreCommands(t *testing.T) {
	t.Parallel()
	codebase, at := "abc123", "a b.go"
	step := func(name string, arguments map[string]any) tool.NextStep {
		return tool.NextStep{Tool: name, Arguments: arguments}
	}
	var steps []tool.NextStep
	for _, action := range tool.Actions() {
		steps = append(steps, step(tool.ToolManage, map[string]any{"action": action, "codebase": codebase}))
	}
	for _, view := range tool.ListViews() {
		steps = append(steps, step(tool.ToolList, map[string]any{"view": view, "codebase": codebase, "path": at}))
	}
	steps = append(steps,
		step(tool.ToolList, map[string]any{"view": tool.ListAll}),
		step(tool.ToolManage, map[string]any{"action": tool.ActionCreate, "path": "/src/a b"}),
		step(tool.ToolManage, map[string]any{"action": tool.ActionClear, "codebase": codebase, "confirm": codebase}),
		step(tool.ToolSearch, map[string]any{"query": "-x y", "mode": "path", "codebase": codebase}),
		step(tool.ToolRead, map[string]any{"targets": []string{"-a.go:1-2", at}, "view": "skeleton", "codebase": codebase}))
	for _, s := range steps {
		line := tool.Command(s)
		args := shellWords(line)
		if len(args) < 2 || args[0] != "freshet" {
			t.Errorf("%v is %q", s, line)
			continue
		}
		if problem := parses(t, args[1:]); problem != "" {
			t.Errorf("%q: %s", line, problem)
		}
	}
}

// shellWords splits a line of plain words and words in single quotes.
func shellWords(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}

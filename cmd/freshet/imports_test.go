package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/freshet/freshet/"

// folders are the top-level folders, and there are no others.
func folders() []string {
	return []string{"cmd", "docs", "mcp", "migrations", "pipeline", "store", "sync", "testdata"}
}

// chain says what each package of the project may import of the project: exact packages,
// or with /... everything below. The rule of the longest prefix counts. Imports point to
// the left only: sync/merkle, store, pipeline/event, stages, cmd.
func chain() map[string][]string {
	return map[string][]string{
		"sync/merkle":        {},
		"sync/ignore":        {},
		"sync/language":      {},
		"store/lexical":      {},
		"store/trigram":      {},
		"store/secret":       {},
		"store":              {"sync/merkle"},
		"store/...":          {"sync/merkle", "store", "store/...", "migrations"},
		"store/rules":        {"sync/merkle", "store"},
		"store/search":       {"sync/merkle", "sync/language", "store", "store/..."},
		"migrations":         {"store"},
		"pipeline/event":     {"sync/merkle", "store"},
		"pipeline/bus":       {"store"},
		"pipeline/bus/...":   {"store", "pipeline/bus", "pipeline/bus/..."},
		"pipeline/embedding": {"store"},
		"pipeline/chunk":     {"sync/merkle", "store"},
		"pipeline":           {"sync/merkle", "store", "store/...", "pipeline/..."},
		"pipeline/...":       {"sync/merkle", "store", "store/...", "pipeline/..."},
		"sync/scan":          {"sync/merkle", "sync/ignore", "sync/language", "store", "store/secret"},
		"sync/watch":         {"sync/merkle", "sync/scan"},
		"sync":               {"sync/merkle", "sync/scan", "sync/watch", "store", "pipeline/event"},
		"sync/freshness":     {"sync/merkle", "sync", "store", "store/search", "store/leasekeeper", "pipeline/bus"},
		"mcp/tool":           {"sync/merkle", "store", "store/search", "store/secret"},
		"mcp/tool/tooltest":  {"sync/merkle", "store", "store/search", "mcp/tool"},
		"mcp":                {"mcp/tool", "store", "store/search", "store/secret"},
		"mcp/mcptest":        {"mcp/tool"},
		"cmd/cli":            {"mcp/tool"},
		"cmd/...":            {"sync", "sync/...", "store", "store/...", "pipeline", "pipeline/...", "mcp", "mcp/...", "cmd/..."},
	}
}

// owners says which folders may import an outside module. The modules that a person would
// look for in one place have one owner.
func owners() map[string][]string {
	return map[string][]string{
		"github.com/nats-io":                     {"pipeline/bus"},
		"github.com/smacker/go-tree-sitter":      {"pipeline/chunk"},
		"github.com/tree-sitter":                 {"pipeline/chunk"},
		"github.com/tree-sitter-grammars":        {"pipeline/chunk"},
		"C":                                      {"pipeline/chunk"},
		"github.com/landlock-lsm":                {"pipeline/chunk"},
		"kernel.org/pub/linux/libs/security":     {"pipeline/chunk"},
		"github.com/jackc":                       {"store/pgstore"},
		"github.com/pgvector":                    {"store/pgstore"},
		"modernc.org/sqlite":                     {"store/sqlitestore"},
		"github.com/pressly/goose":               {"migrations"},
		"github.com/modelcontextprotocol/go-sdk": {"mcp"},
		"github.com/google/jsonschema-go":        {"mcp"},
		"github.com/spf13/cobra":                 {"cmd/cli"},
		"github.com/prometheus":                  {"mcp", "cmd/meter", "cmd/host"},
		"github.com/klauspost/compress":          {"store", "pipeline/bus/natsbus"},
		"github.com/go-enry/go-enry/v2/data":     {"sync/language"},
		"github.com/cespare/xxhash":              {"sync", "store", "pipeline/embedding", "pipeline/bus/natsbus", "cmd/train"},
		"golang.org/x/sys":                       {"sync", "store", "pipeline/chunk", "cmd"},
		"github.com/hashicorp/golang-lru":        {"store/search", "store/outagecache", "pipeline/embedding/served", "mcp"},
		"github.com/mattn/go-isatty":             {"cmd/freshet"},
		"github.com/bmatcuk/doublestar":          {"store/search"},
		"golang.org/x/sync":                      {"sync", "store", "pipeline", "cmd"},
		"golang.org/x/time":                      {"pipeline/remote"},
	}
}

// testing modules may stand in tests and in the packages of suites, which end in "test".
func testModules() []string {
	return []string{
		"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak",
		"github.com/rogpeppe/go-internal", "golang.org/x/tools",
		"github.com/go-enry/go-enry/v2", // fills a large table when a process starts
	}
}

// names are the packages that are not named as their folders, and the only names by which
// they are imported.
func names() map[string]string { return map[string]string{"sync": "merklesync", "mcp": "mcpserver"} }

// sourceFile is a Go file of the project as far as its imports go.
type sourceFile struct {
	path, dir, name string
	test            bool
	imports         []sourceImport
}

type sourceImport struct{ path, alias string }

// readSources parses the imports of every Go file. It reads the files itself: what go list
// says is not part of the test cache's key.
func readSources(t *testing.T, root fs.FS) []sourceFile {
	t.Helper()
	var files []sourceFile
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, ".go"):
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ImportsOnly)
		if err != nil {
			return err
		}
		file := sourceFile{path: name, dir: path.Dir(name), name: parsed.Name.Name, test: strings.HasSuffix(base, "_test.go")}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			alias := ""
			if spec.Name != nil {
				alias = spec.Name.Name
			}
			file.imports = append(file.imports, sourceImport{imported, alias})
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// violations lists what the files do against the layout.
func violations(files []sourceFile) []string {
	var found []string
	for _, file := range files {
		want := packageName(file.dir)
		if external := file.test && file.name == want+"_test"; file.name != want && !external {
			found = append(found, file.path+": package "+file.name+", want "+want)
		}
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "manager", "types"}, file.name) {
			found = append(found, file.path+": package "+file.name+" says nothing")
		}
		for _, imported := range file.imports {
			if fault := judge(file, imported); fault != "" {
				found = append(found, file.path+": imports "+imported.path+": "+fault)
			}
		}
	}
	return found
}

func packageName(dir string) string {
	if name, ok := names()[dir]; ok {
		return name
	}
	if path.Dir(dir) == "cmd" && (dir == "cmd/freshet" || dir == "cmd/bench" || dir == "cmd/train") {
		return "main"
	}
	return path.Base(dir)
}

// judge says what is wrong with an import, "" when nothing is.
func judge(file sourceFile, imported sourceImport) string {
	inside, ours := strings.CutPrefix(imported.path, module)
	if ours {
		if want := names()[inside]; want != "" && imported.alias != want {
			return "import it by the name " + want
		}
		if file.test {
			return "" // a test may look from anywhere
		}
		allowed, ok := ruleOf(file.dir)
		switch {
		case !ok:
			return "the chain has no rule for " + file.dir
		case !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, inside) }):
			return "not to the left of " + file.dir
		}
		return ""
	}
	first, _, _ := strings.Cut(imported.path, "/")
	if !strings.Contains(first, ".") && imported.path != "C" {
		return "" // the standard library
	}
	for owned, by := range owners() {
		if below(owned, imported.path) {
			if slices.ContainsFunc(by, func(folder string) bool { return below(folder, file.dir) }) {
				return ""
			}
			return "owned by " + strings.Join(by, ", ")
		}
	}
	if slices.ContainsFunc(testModules(), func(m string) bool { return below(m, imported.path) }) {
		if file.test || strings.HasSuffix(file.name, "test") {
			return ""
		}
		return "only for tests"
	}
	return "a module without an owner"
}

func ruleOf(dir string) ([]string, bool) {
	rules, best := chain(), ""
	for pattern := range rules {
		if matches(pattern, dir) && (pattern == dir || len(pattern) > len(best)) && best != dir {
			best = pattern
		}
	}
	allowed, ok := rules[best]
	return allowed, ok
}

func matches(pattern, dir string) bool {
	prefix, all := strings.CutSuffix(pattern, "/...")
	return pattern == dir || (all && strings.HasPrefix(dir, prefix+"/"))
}

func below(prefix, dir string) bool { return dir == prefix || strings.HasPrefix(dir, prefix+"/") }

// TestImports keeps the layout: the folders, the chain, the owners and the names.
func TestImports(t *testing.T) {
	t.Parallel()
	root := os.DirFS(filepath.Join("..", ".."))
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(folders(), entry.Name()) {
			t.Errorf("top-level folder %s: the layout has only %s", entry.Name(), strings.Join(folders(), " "))
		}
	}
	files := readSources(t, root)
	if len(files) < 100 {
		t.Fatalf("found only %d files", len(files))
	}
	for _, violation := range violations(files) {
		t.Error(violation)
	}
}

// TestImportsAreJudged plants faults and expects each to be found.
func TestImportsAreJudged(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, path, pkg, imported, alias string
		fault                            bool
	}{
		{name: "to the left", path: "store/x.go", pkg: "store", imported: module + "sync/merkle"},
		{name: "to the right", path: "store/x.go", pkg: "store", imported: module + "pipeline/event", fault: true},
		{name: "a store in a handler", path: "mcp/tool/x.go", pkg: "tool", imported: module + "store/sqlitestore", fault: true},
		{name: "the host in the command line", path: "cmd/cli/x.go", pkg: "cli", imported: module + "cmd/host", fault: true},
		{name: "a test looks from anywhere", path: "store/x_test.go", pkg: "store_test", imported: module + "pipeline/event"},
		{name: "the owner", path: "pipeline/bus/natsbus/x.go", pkg: "natsbus", imported: "github.com/nats-io/nats.go/jetstream"},
		{name: "not the owner", path: "pipeline/stage/x.go", pkg: "stage", imported: "github.com/nats-io/nats.go", fault: true},
		{name: "not even in a test", path: "cmd/cli/x_test.go", pkg: "cli", imported: "modernc.org/sqlite", fault: true},
		{name: "cgo outside", path: "store/x.go", pkg: "store", imported: "C", fault: true},
		{name: "a new module", path: "store/x.go", pkg: "store", imported: "example.com/m", fault: true},
		{name: "a testing module in the program", path: "store/x.go", pkg: "store", imported: "pgregory.net/rapid", fault: true},
		{name: "a testing module in a suite", path: "store/storetest/x.go", pkg: "storetest", imported: "pgregory.net/rapid"},
		{name: "sync by its name", path: "cmd/host/x.go", pkg: "host", imported: module + "sync", alias: "merklesync"},
		{name: "sync by another", path: "cmd/host/x.go", pkg: "host", imported: module + "sync", fault: true},
		{name: "a package without a rule", path: "other/x.go", pkg: "other", imported: module + "store", fault: true},
		{name: "a package that says nothing", path: "store/util/x.go", pkg: "util", imported: "fmt", fault: true},
		{name: "a package of another name", path: "store/x.go", pkg: "shop", imported: "fmt", fault: true},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := violations([]sourceFile{{
				path: test.path, dir: path.Dir(test.path), name: test.pkg, test: strings.HasSuffix(test.path, "_test.go"),
				imports: []sourceImport{{test.imported, test.alias}},
			}})
			if (len(found) > 0) != test.fault {
				t.Errorf("violations %v, want some: %v", found, test.fault)
			}
		})
	}
}

// TestDamageHasOnePredicate: store.IsDamage alone decides whether an error is damage, so that
// no caller knows one sentinel and not the other. The stores, which make these errors, and
// tests may name them.
func TestDamageHasOnePredicate(t *testing.T) {
	t.Parallel()
	root := os.DirFS(filepath.Join("..", ".."))
	compared := regexp.MustCompile(`errors\.Is\([^)]*, store\.(ErrCorrupt|ErrChecksum)\)`)
	read := 0
	for _, file := range readSources(t, root) {
		if file.test || below("store/sqlitestore", file.dir) || below("store/pgstore", file.dir) || strings.HasSuffix(file.dir, "test") {
			continue
		}
		text, err := fs.ReadFile(root, file.path)
		if err != nil {
			t.Fatal(err)
		}
		read++
		for _, place := range compared.FindAll(text, -1) {
			t.Errorf("%s: %s; ask store.IsDamage", file.path, place)
		}
	}
	if read < 100 {
		t.Fatalf("read only %d files", read)
	}
}

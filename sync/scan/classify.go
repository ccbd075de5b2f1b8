package scan

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/language"
)

// Version is the version of the rules of exclusion and classification. It is part of the
// recipe: a change changes the index.
const Version = "3"

// Classify returns the language of a file, by the names of package language, "" when unknown,
// and its flags. It depends on the path and the bytes alone.
func Classify(path string, data []byte) (language string, flags store.FileFlags) {
	var c classifier
	return c.classify(path, data)
}

// classifier classifies files and caches the flags of directories. It is used by one
// goroutine.
type classifier struct {
	dir      string
	dirFlags store.FileFlags
	dirKnown bool
}

// headBytes is how much of a file is read to detect its language and whether it is generated.
const headBytes = 4 << 10

func (c *classifier) classify(name string, data []byte) (string, store.FileFlags) {
	dir := parentOf(name)
	if !c.dirKnown || c.dir != dir {
		c.dir, c.dirKnown = dir, true
		c.dirFlags = directoryFlags(dir)
	}
	flags := c.dirFlags
	base := baseOf(name)
	if flags&store.FlagVendored == 0 && mayBeVendored(name, base) && language.IsVendored(plainVendor(name)) {
		flags |= store.FlagVendored
	}
	if flags&store.FlagDocs == 0 && mayBeDocumentation(base) && language.IsDocumentation(base) {
		flags |= store.FlagDocs
	}
	if isTestName(base) {
		flags |= store.FlagTest
	}
	head := data[:min(len(data), headBytes)]
	if isGenerated(name, base, head, data) {
		flags |= store.FlagGenerated
	}
	return language.Of(base, head), flags
}

// directoryFlags returns the flags of every file below a directory.
func directoryFlags(dir string) store.FileFlags {
	if dir == "" {
		return 0
	}
	var flags store.FileFlags
	if language.IsVendored(plainVendor(dir + "/")) {
		flags |= store.FlagVendored
	}
	if language.IsDocumentation(dir + "/") {
		flags |= store.FlagDocs
	}
	for part := range strings.SplitSeq(dir, "/") {
		switch strings.ToLower(part) {
		case "test", "tests", "__tests__", "testdata", "testing", "spec", "specs", "e2e", "fixtures", "__mocks__", "__snapshots__":
			flags |= store.FlagTest
		}
	}
	return flags
}

// ownWords are directories that package language counts as vendored and that as often hold a
// project's own code.
var ownWords = []string{"cache", "env", "testdata", ".github", "dist"}

// plainVendor takes those directories out of a path before it is judged.
func plainVendor(name string) string {
	for _, word := range ownWords {
		if !strings.Contains(name, word+"/") {
			continue
		}
		parts := strings.Split(name, "/")
		for i, part := range parts {
			if slices.Contains(ownWords, part) {
				parts[i] = "-"
			}
		}
		return strings.Join(parts, "/")
	}
	return name
}

// mayBeVendored is a cheap filter before the long regular expression: it returns false for
// names that the expression can match by their directories only.
func mayBeVendored(name, base string) bool {
	switch path.Ext(base) {
	case ".go", ".py", ".rs", ".java", ".c", ".h", ".cc", ".cpp", ".hpp", ".rb", ".php", ".cs", ".kt", ".swift", ".scala", ".md", ".tsx", ".json", ".yaml", ".yml", ".toml":
		return base == "cpplint.py" || base == "fabfile.py"
	case ".ts":
		return strings.HasSuffix(base, ".d.ts")
	}
	return true
}

// mayBeDocumentation reports whether a name begins like that of a document.
func mayBeDocumentation(base string) bool {
	return base != "" && strings.IndexByte("CILRlr", base[0]) >= 0
}

// isTestName reports whether a name is that of a test by the conventions of its language.
func isTestName(base string) bool {
	stem, ext, _ := strings.Cut(base, ".")
	switch {
	case strings.HasSuffix(stem, "_test"), strings.HasSuffix(stem, "_spec"), strings.HasSuffix(stem, "_unittest"), strings.HasSuffix(stem, "-test"):
		return true
	case strings.HasPrefix(stem, "test_") && (ext == "py" || ext == "c" || ext == "cpp" || ext == "rb"), base == "conftest.py":
		return true
	case strings.HasPrefix(ext, "test."), strings.HasPrefix(ext, "spec."), strings.HasPrefix(ext, "stories."):
		return true
	}
	switch ext {
	case "java", "kt", "cs", "scala", "swift", "php", "groovy":
		return strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "Spec") || strings.HasSuffix(stem, "TestCase")
	case "bats":
		return true
	}
	return false
}

// markers are words that the heads of generated files contain.
var markers = [][]byte{
	[]byte("enerated"), []byte("DO NOT EDIT"), []byte("GENERATED"), []byte("sourceMappingURL"), []byte("do not edit"), []byte("Do not edit"),
}

// isGenerated reports whether a file is generated, after a cheap filter on its name and head.
func isGenerated(name, base string, head, data []byte) bool {
	if bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT")) || bytes.Contains(head, []byte("@generated")) {
		return true
	}
	switch {
	case strings.HasSuffix(base, ".lock"), strings.HasSuffix(base, "-lock.json"), strings.HasSuffix(base, "-lock.yaml"),
		strings.HasSuffix(base, ".min.js"), strings.HasSuffix(base, ".min.css"), base == "go.sum", base == "npm-shrinkwrap.json":
		return true
	case strings.Contains(name, "node_modules/"), strings.Contains(name, "__generated__/"), strings.HasSuffix(base, ".Designer.cs"):
		return true
	}
	for _, marker := range markers {
		if bytes.Contains(head, marker) {
			return language.IsGenerated(name, data)
		}
	}
	return false
}

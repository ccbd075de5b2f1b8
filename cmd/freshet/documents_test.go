package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is a Markdown file of the project.
type document struct{ path, text string }

// readDocuments reads every Markdown file outside test data.
func readDocuments(t *testing.T, root fs.FS) []document {
	t.Helper()
	var all []document
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, ".md"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		all = append(all, document{name, string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	linkTarget  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headingLine = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	testName    = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*|Benchmark[A-Z][A-Za-z0-9]*)`")
	makeTarget  = regexp.MustCompile("`make ([a-z]+)")
)

// anchors are the fragments that headings of a document can be linked by, as GitHub makes
// them.
func anchors(text string) []string {
	var all []string
	for _, m := range headingLine.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		a := strings.ToLower(strings.ReplaceAll(m[1], "`", ""))
		a = linkTarget.ReplaceAllString(strings.ReplaceAll(a, "[", ""), "")
		all = append(all, strings.ReplaceAll(notInAnchor.ReplaceAllString(a, ""), " ", "-"))
	}
	return all
}

// brokenLinks lists the relative links of documents that lead nowhere.
func brokenLinks(root fs.FS, all []document) []string {
	texts := map[string]string{}
	for _, d := range all {
		texts[d.path] = d.text
	}
	var broken []string
	for _, d := range all {
		text := codeSpan.ReplaceAllString(fencedBlock.ReplaceAllString(d.text, ""), "")
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			link := m[1]
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			file, fragment, _ := strings.Cut(link, "#")
			target := d.path
			if file != "" {
				target = path.Join(path.Dir(d.path), file)
			}
			if _, err := fs.Stat(root, target); err != nil {
				broken = append(broken, d.path+": "+link)
			} else if fragment != "" && !slices.Contains(anchors(texts[target]), fragment) {
				broken = append(broken, d.path+": "+link+": no such heading")
			}
		}
	}
	return broken
}

// TestLinksLeadSomewhere follows every relative link of every document.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	for _, b := range brokenLinks(root, readDocuments(t, root)) {
		t.Errorf("broken link: %s", b)
	}
	planted := document{"docs/decisions/segments.md", "# A `b` c\n[a](#a-b-c) [b](#gone) [c](missing.md) [d](../../README.md#no-such-heading) `[e](f.md)`\n```\n[g](h.md)\n```\n"}
	if got := brokenLinks(root, append(readDocuments(t, root), planted)); len(got) != 3 {
		t.Errorf("of three planted links these are found: %q", got)
	}
}

// TestDocumentsNameWhatExists: the tests, make targets and packages that documents name are
// there.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	tests, makefile := testSources(t, root), readText(t, root, "Makefile")
	for _, d := range readDocuments(t, root) {
		for _, m := range testName.FindAllStringSubmatch(d.text, -1) {
			if !strings.Contains(tests, "func "+m[1]+"(") {
				t.Errorf("%s names %s, which is no test", d.path, m[1])
			}
		}
		for _, m := range makeTarget.FindAllStringSubmatch(d.text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names the target %s, which the Makefile lacks", d.path, m[1])
			}
		}
	}
	architecture := readText(t, root, "docs/architecture.md")
	for _, file := range readSources(t, root) {
		if file.test || strings.HasPrefix(file.dir, "cmd/train/") || strings.Contains(architecture, "`"+file.dir+"`") {
			continue
		}
		if parent := path.Dir(file.dir); !strings.Contains(architecture, "`"+parent+"`") && !strings.Contains(architecture, "`"+path.Dir(parent)+"`") {
			t.Errorf("docs/architecture.md does not place %s", file.dir)
		}
	}
}

func readText(t *testing.T, root fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testSources is the text of every test and of the suites.
func testSources(t *testing.T, root fs.FS) string {
	t.Helper()
	var all strings.Builder
	for _, file := range readSources(t, root) {
		if file.test || strings.HasSuffix(file.dir, "test") {
			all.WriteString(readText(t, root, file.path))
		}
	}
	return all.String()
}

package chunk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/freshet/freshet/store"
)

// checkSyntax verifies what every syntax of a content promises.
func checkSyntax(content []byte, s store.Syntax) error {
	lines := indexLines(content)
	at, line := uint32(0), uint32(1)
	for i, c := range s.Chunks {
		if c.Start != at || c.End <= c.Start || int(c.End) > len(content) {
			return fmt.Errorf("chunk %d is [%d,%d) after %d of %d", i, c.Start, c.End, at, len(content))
		}
		if c.End-c.Start > maxBytes || c.EndLine-c.StartLine >= maxLines {
			return fmt.Errorf("chunk %d has %d bytes and %d lines", i, c.End-c.Start, c.EndLine-c.StartLine+1)
		}
		if want := uint32(lines.at(c.Start)) + 1; c.StartLine != want || c.StartLine < line {
			return fmt.Errorf("chunk %d starts at line %d, want %d", i, c.StartLine, want)
		}
		if want := uint32(lines.lastOf(c.Start, c.End)) + 1; c.EndLine != want {
			return fmt.Errorf("chunk %d ends at line %d, want %d", i, c.EndLine, want)
		}
		if c.TextHash.IsZero() || len(c.Breadcrumb) > maxBreadcrumb+maxCrumb {
			return fmt.Errorf("chunk %d: hash %s, breadcrumb %q", i, c.TextHash, c.Breadcrumb)
		}
		at, line = c.End, c.EndLine
	}
	if int(at) != len(content) {
		return fmt.Errorf("chunks end at %d of %d", at, len(content))
	}
	for i, d := range s.Definitions {
		if d.Name == "" || d.Kind == "" || d.Start >= d.End || int(d.End) > len(content) ||
			d.Parent < -1 || int(d.Parent) >= len(s.Definitions) || int(d.Parent) == i ||
			len(d.Signature) > maxSignature || strings.Contains(d.Signature, "\n") || len(d.Doc) > maxDoc {
			return fmt.Errorf("definition %d is %+v", i, d)
		}
		if d.StartLine != uint32(lines.at(d.Start))+1 || d.EndLine != uint32(lines.lastOf(d.Start, d.End))+1 {
			return fmt.Errorf("definition %d has lines %d to %d", i, d.StartLine, d.EndLine)
		}
	}
	type key struct {
		name string
		kind store.ReferenceKind
		from int32
	}
	seen := map[key]bool{}
	for i, r := range s.References {
		k := key{r.Name, r.Kind, r.From}
		if r.Name == "" || r.Line < 1 || int(r.Line) > lines.count() || r.From < -1 || int(r.From) >= len(s.Definitions) || seen[k] {
			return fmt.Errorf("reference %d is %+v", i, r)
		}
		seen[k] = true
	}
	return nil
}

// sources are real files: this package's own and the standard library's Go.
func sources(t testing.TB) map[string][][]byte {
	t.Helper()
	found := map[string][][]byte{}
	add := func(language, pattern string) {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[language] = append(found[language], content)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(out))
	for _, dir := range []string{"net/http", "go/types", "encoding/json"} {
		add("Go", filepath.Join(root, "src", dir, "*.go"))
	}
	return found
}

func TestCutKeepsItsPromisesOnRealFiles(t *testing.T) {
	t.Parallel()
	c := newCutter(stepLimit)
	defer c.close()
	for language, contents := range sources(t) {
		for i, content := range contents {
			s, err := c.cut(language, content)
			if err != nil {
				t.Fatalf("%s %d: %v", language, i, err)
			}
			if err := checkSyntax(content, s); err != nil {
				t.Errorf("%s %d: %v", language, i, err)
			}
			if err := checkSyntax(content, Fallback(content)); err != nil {
				t.Errorf("fallback of %s %d: %v", language, i, err)
			}
		}
	}
}

// TestCutKeepsItsPromisesOnDamage cuts damaged fixtures and random bytes in every
// language.
func TestCutKeepsItsPromisesOnDamage(t *testing.T) {
	t.Parallel()
	c := newCutter(stepLimit)
	defer c.close()
	random := rand.New(rand.NewPCG(1, 2))
	for _, l := range languages() {
		for i, content := range damaged(t, l.name, random) {
			s, err := c.cut(l.name, content)
			if err != nil {
				t.Fatalf("%s %d: %v", l.name, i, err)
			}
			if err := checkSyntax(content, s); err != nil {
				t.Errorf("%s %d: %v\n%q", l.name, i, err, content[:min(len(content), 400)])
			}
			again, err := c.cut(l.name, content)
			if err != nil || !reflect.DeepEqual(s, again) {
				t.Errorf("%s %d: cut twice differs (%v)", l.name, i, err)
			}
		}
	}
}

func damaged(t *testing.T, language string, random *rand.Rand) [][]byte {
	source := fixtureSource(t, language)
	contents := [][]byte{
		{}, []byte("\n"), []byte("\r\n\r\n"), []byte("x"), []byte("\xff\xfe\x00"), source,
		bytes.ReplaceAll(source, []byte("\n"), []byte("\r\n")),
		bytes.ReplaceAll(source, []byte("\n"), []byte(" ")),
		bytes.TrimRight(source, "\n"),
		bytes.Repeat([]byte("word "), 5000),
		bytes.Repeat([]byte("\xff"), 9000),
		bytes.Repeat([]byte("\n"), 500),
		bytes.Repeat(source, 3),
	}
	for range 5 {
		content := bytes.Clone(source)
		for range 1 + random.IntN(10) {
			if len(content) < 4 {
				break
			}
			at := random.IntN(len(content) - 2)
			switch random.IntN(3) {
			case 0:
				content[at] = byte(random.IntN(256))
			case 1:
				content = append(content[:at], content[at+random.IntN(len(content)-at):]...)
			case 2:
				content = append(content[:at:at], append([]byte("{([\"'\n"), content[at:]...)...)
			}
		}
		contents = append(contents, content)
	}
	return contents
}

func TestCutOfOverlongContentIsByLines(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("package p\n"), MaxBytes/10+1)
	s := Cut("Go", content)
	if s.Cut != store.CutLines {
		t.Errorf("cut is %q, want %q", s.Cut, store.CutLines)
	}
	if err := checkSyntax(content, s); err != nil {
		t.Error(err)
	}
}

package secret_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/store/secret"
)

var (
	trees = flag.String("secret.trees", "", "directories to look for credentials in, separated by commas")
	shown = flag.Bool("secret.spans", false, "print each span with its line")
)

// mostTouched bounds the share of the files of a tree in which the detector covers something.
const mostTouched = 0.005

// touched is what the detector covers in a tree.
type touched struct {
	files, covered int
	rules          map[string]int // spans by rule
	spans          []string       // path:line: rule: the line
}

// share is that of the files that hold at least one span.
func (r touched) share() float64 { return float64(r.covered) / float64(max(1, r.files)) }

func (r touched) String() string {
	var rules []string
	for rule := range r.rules {
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b string) int { return r.rules[b] - r.rules[a] })
	for i, rule := range rules {
		rules[i] = fmt.Sprintf("%s %d", rule, r.rules[rule])
	}
	return fmt.Sprintf("%d files, %d touched (%.3f%%); spans: %s", r.files, r.covered, 100*r.share(), strings.Join(rules, ", "))
}

// touchedIn reads the text files of a tree, at most 1 MiB each, that are no secrets by name.
func touchedIn(root string) (touched, error) {
	result := touched{rules: map[string]int{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(root, path)
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if entry.Name() == ".git" || secret.NamedDirectory(relative) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || secret.Named(relative) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1<<20 || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			return err
		}
		result.files++
		spans := secret.Find(data)
		if len(spans) > 0 {
			result.covered++
		}
		for _, s := range spans {
			result.rules[s.Rule]++
			from, to := bytes.LastIndexByte(data[:s.Start], '\n')+1, len(data)
			if end := bytes.IndexByte(data[s.Start:], '\n'); end >= 0 {
				to = s.Start + end
			}
			line := data[max(from, s.Start-60):min(to, s.End+20)]
			result.spans = append(result.spans, fmt.Sprintf("%s:%d: %s: %s", relative, bytes.Count(data[:s.Start], []byte("\n"))+1, s.Rule, line))
		}
		return nil
	})
	return result, err
}

// TestFalsePositives: the detector covers something in at most 0.5% of the files of a tree
// of source text. Without -secret.trees the tree is this repository.
func TestFalsePositives(t *testing.T) {
	t.Parallel()
	roots := []string{filepath.Join("..", "..")}
	if *trees != "" {
		roots = strings.Split(*trees, ",")
	}
	for _, root := range roots {
		result, err := touchedIn(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", root, result)
		if *shown {
			for _, span := range result.spans {
				fmt.Println(span)
			}
		}
		if result.files == 0 || result.share() > mostTouched {
			t.Errorf("%s: %.3f%% of the files are touched, at most %.1f%% may be; -secret.spans shows where", root, 100*result.share(), 100*mostTouched)
		}
	}
}

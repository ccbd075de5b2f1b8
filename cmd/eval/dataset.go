package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Repository is a tree with the queries that were written for it.
type Repository struct {
	Name, Language string
	// Root is the folder of the checkout that is indexed, relative with slashes; "" is all
	// of it.
	Root    string
	Queries []Query
}

// Query is a query with the places that answer it.
type Query struct {
	Text, Category     string
	Primary, Secondary []Span
}

// Targets are all places that answer a query.
func (q Query) Targets() []Span { return append(slices.Clone(q.Primary), q.Secondary...) }

// Span is a file, or lines of one: 1-based and inclusive. Zero lines mean the file.
type Span struct {
	Path       string
	Start, End int
}

// UnmarshalJSON reads "path", [path, start, end] or {"path", "start_line", "end_line"}.
func (s *Span) UnmarshalJSON(data []byte) error {
	var form struct {
		Path  string `json:"path"`
		Start int    `json:"start_line"`
		End   int    `json:"end_line"`
	}
	if json.Unmarshal(data, &s.Path) == nil {
		return nil
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return fmt.Errorf("read a place: %w", err)
	}
	*s = Span(form)
	if s.Start == 0 || s.End == 0 {
		s.Start, s.End = 0, 0
	}
	return nil
}

// ErrNoQueries is returned by Load for a folder that is not a set of queries.
var ErrNoQueries = errors.New("no queries")

// Load reads a set of queries: repos.json lists repositories by name, language and
// benchmark_root, and annotations/NAME.json the queries of each. Repositories come sorted
// by name.
func Load(dir string) ([]Repository, error) {
	var listed []struct {
		Name     string `json:"name"`
		Language string `json:"language"`
		Root     string `json:"benchmark_root"`
	}
	if err := readJSON(filepath.Join(dir, "repos.json"), &listed); err != nil {
		return nil, err
	}
	var repositories []Repository
	for _, l := range listed {
		if l.Name == "" || !filepath.IsLocal(l.Name) || (l.Root != "" && !filepath.IsLocal(l.Root)) {
			return nil, fmt.Errorf("repos.json: repository %q with folder %q: want names inside the folder of repositories", l.Name, l.Root)
		}
		r := Repository{Name: l.Name, Language: l.Language, Root: path.Clean(l.Root)}
		if r.Root == "." {
			r.Root = ""
		}
		var rows []struct {
			Query     string `json:"query"`
			Category  string `json:"category"`
			Relevant  []Span `json:"relevant"`
			Secondary []Span `json:"secondary"`
		}
		err := readJSON(filepath.Join(dir, "annotations", l.Name+".json"), &rows)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			r.Queries = append(r.Queries, Query{row.Query, row.Category, row.Relevant, row.Secondary})
		}
		repositories = append(repositories, r)
	}
	if len(repositories) == 0 {
		return nil, fmt.Errorf("%s: %w: want repos.json and annotations/NAME.json", dir, ErrNoQueries)
	}
	slices.SortFunc(repositories, func(a, b Repository) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return repositories, nil
}

func readJSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read queries: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

package search

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/freshet/freshet/sync/language"
)

// filtered is what the filters of a query leave of a corpus.
type filtered struct {
	files, chunks bitmap // live ones that pass
	removed       map[string]int
	kinds         map[string]bool // nil for all
}

// filter applies a query's filters, and counts what each alone would remove.
func (c *corpus) filter(q Query) (*filtered, error) {
	f := &filtered{files: c.liveFiles, chunks: c.liveChunks, removed: map[string]int{}}
	if len(q.Paths) > 0 {
		patterns, err := compileGlobs(q.Paths)
		if err != nil {
			return nil, err
		}
		f.keep(c, "paths", func(p part, file int) bool {
			return patterns.match(string(p.Path(file)))
		})
	}
	if len(q.Languages) > 0 {
		match, err := c.languages(q.Languages)
		if err != nil {
			return nil, err
		}
		f.keep(c, "languages", match)
	}
	if len(q.Kinds) > 0 {
		f.keepKinds(c, q.Kinds)
	}
	return f, nil
}

// keep takes out the files that do not match, and their chunks.
func (f *filtered) keep(c *corpus, name string, match func(p part, file int) bool) {
	files, chunks := newBitmap(c.files), newBitmap(c.chunks)
	removed := 0
	for _, p := range c.parts {
		for file := range p.Files() {
			if !c.liveFiles.has(p.fileBase + file) {
				continue
			}
			if !match(p, file) {
				removed++
				continue
			}
			files.set(p.fileBase + file)
			first, end := p.FileChunks(file)
			chunks.setRange(p.chunkBase+first, p.chunkBase+end)
		}
	}
	f.removed[name] = removed
	f.files, f.chunks = and(f.files, files), and(f.chunks, chunks)
}

// keepKinds takes out the chunks in which no definition of the kinds begins, and the files
// without any.
func (f *filtered) keepKinds(c *corpus, kinds []string) {
	f.kinds = map[string]bool{}
	for _, kind := range kinds {
		f.kinds[strings.ToLower(kind)] = true
	}
	files, chunks := newBitmap(c.files), newBitmap(c.chunks)
	for _, p := range c.parts {
		for definition := range p.Definitions() {
			if f.kinds[string(p.DefinitionKind(definition))] {
				files.set(p.fileBase + p.DefinitionFile(definition))
				chunks.set(p.chunkBase + p.DefinitionChunk(definition))
			}
		}
	}
	f.removed["kinds"] = c.fileCount - and(c.liveFiles, files).count()
	f.files, f.chunks = and(f.files, files), and(f.chunks, chunks)
}

func and(a, b bitmap) bitmap {
	out := newBitmap(64 * len(a))
	for i := range a {
		out[i] = a[i] & b[i]
	}
	return out
}

// languages compiles a filter by languages and extensions.
func (c *corpus) languages(names []string) (func(part, int) bool, error) {
	present := map[string]string{}
	for _, p := range c.parts {
		for file := range p.Files() {
			if language := p.Language(file); len(language) > 0 && present[string(language)] == "" {
				present[string(language)] = strings.ToLower(string(language))
			}
		}
	}
	wanted, extensions := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, ".") {
			extensions[name] = true
			continue
		}
		known := false
		for spelled, lower := range present {
			if lower == name {
				wanted[spelled], known = true, true
			}
		}
		if meant, ok := language.ByAlias(name); ok {
			wanted[meant], known = true, true
		}
		if !known {
			return nil, &BadQuery{Field: "languages", Message: fmt.Sprintf("no language %q", name), Allowed: sortedKeys(present)}
		}
	}
	return func(p part, file int) bool {
		if wanted[string(p.Language(file))] {
			return true
		}
		return len(extensions) > 0 && extensions[strings.ToLower(path.Ext(string(p.Path(file))))]
	}, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

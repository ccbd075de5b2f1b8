package tool

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// How much an overview looks at: files of a directory whose definitions are read, and the
// definitions, languages that are named of it.
const (
	overviewFiles       = 8
	overviewDefinitions = 6
	overviewLanguages   = 3
)

// DirectoryInfo is the structure of a directory with everything below it. The files that
// stand in the described directory itself are an entry of their own, ".".
type DirectoryInfo struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	// Languages are the most frequent ones.
	Languages []LanguageCount `json:"languages"`
	// Definitions are the largest public ones of its largest files that are neither tests
	// nor generated.
	Definitions []MainDefinition `json:"definitions,omitempty"`
}

// LanguageCount counts the files of a language.
type LanguageCount struct {
	Language string `json:"language"`
	Files    int    `json:"files"`
}

// MainDefinition is a definition that a directory is known by.
type MainDefinition struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	FilePath  string `json:"file_path"`
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
}

// overview describes the directories of a directory, from the served snapshot.
func (c *call) overview(ctx context.Context, b store.Codebase, p listParams) error {
	options, err := p.options()
	if err != nil {
		return err
	}
	reading, err := c.check(ctx, b, options)
	if err != nil {
		return err
	}
	if err := c.admit(b, reading, options, "path"); err != nil {
		return err
	}
	base := "."
	if p.Path != "" {
		paths, err := within(b, p.Path, p.CWD)
		if err != nil {
			return err
		}
		base = paths[0]
	}
	groups, err := c.group(ctx, b, reading.View.Snapshot.Number, base)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return Errorf(CodePathNotFound, "the snapshot has no file below %s", merkle.QuotePath(base)).
			Next(NextStep{ToolList, map[string]any{"codebase": string(b.ID), "view": ListOverview}, "describes the root"})
	}
	infos, err := c.describeGroups(ctx, reading.View.Snapshot.Fingerprint, groups)
	if err != nil {
		return err
	}
	of := listing{cursor: p.Cursor, snapshot: reading.View.Snapshot.Number, of: []any{ListOverview, b.ID, base}}
	return paged(c, infos, of, func(shown []DirectoryInfo) { c.env.Overview = &shown })
}

// group sorts the files below a directory by the directory of the next level.
func (c *call) group(ctx context.Context, b store.Codebase, number uint64, base string) (map[string][]store.FileEntry, error) {
	groups := map[string][]store.FileEntry{}
	for entry, err := range c.Catalog.Manifest(ctx, b.ID, number) {
		if err != nil {
			return nil, err
		}
		rest, ok := entry.Path, true
		if base != "." {
			rest, ok = strings.CutPrefix(entry.Path, base+"/")
		}
		if !ok {
			continue
		}
		name := "."
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			name = path.Join(base, first)
		}
		groups[name] = append(groups[name], entry)
	}
	return groups, nil
}

func (c *call) describeGroups(ctx context.Context, fp store.Fingerprint, groups map[string][]store.FileEntry) ([]DirectoryInfo, error) {
	outlines, err := outlinesOf(ctx, c.Contents, fp)
	if err != nil {
		return nil, err
	}
	chosen := map[string][]store.FileEntry{}
	var keys []store.SyntaxKey
	if c.shape.Verbosity != VerbositySummary {
		for name, files := range groups {
			chosen[name] = mainFiles(files)
			for _, f := range chosen[name] {
				keys = append(keys, outlines.key(f.Content, f.Language))
			}
		}
	}
	if err := outlines.load(ctx, keys); err != nil {
		return nil, err
	}
	infos := make([]DirectoryInfo, 0, len(groups))
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		info := DirectoryInfo{Path: merkle.QuotePath(name), Files: len(groups[name]), Languages: languagesOf(groups[name])}
		for _, f := range groups[name] {
			info.Bytes += f.Size
		}
		for _, f := range chosen[name] {
			info.Definitions = append(info.Definitions, mainDefinitions(f, outlines.held[outlines.key(f.Content, f.Language)])...)
		}
		slices.SortStableFunc(info.Definitions, func(a, b MainDefinition) int {
			return cmp.Compare(b.EndLine-b.StartLine, a.EndLine-a.StartLine)
		})
		info.Definitions = info.Definitions[:min(len(info.Definitions), overviewDefinitions)]
		infos = append(infos, info)
	}
	return infos, nil
}

// mainFiles chooses the files that a directory is known by: source before the rest,
// shallow before deep, large before small.
func mainFiles(files []store.FileEntry) []store.FileEntry {
	const aside = store.FlagTest | store.FlagGenerated | store.FlagVendored | store.FlagDocs
	sources := slices.DeleteFunc(slices.Clone(files), func(f store.FileEntry) bool { return f.Flags&aside != 0 || f.Language == "" })
	slices.SortStableFunc(sources, func(a, b store.FileEntry) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), cmp.Compare(b.Size, a.Size))
	})
	return sources[:min(len(sources), overviewFiles)]
}

func languagesOf(files []store.FileEntry) []LanguageCount {
	counts := map[string]int{}
	for _, f := range files {
		if f.Language != "" {
			counts[f.Language]++
		}
	}
	list := make([]LanguageCount, 0, len(counts))
	for language, n := range counts {
		list = append(list, LanguageCount{language, n})
	}
	slices.SortFunc(list, func(a, b LanguageCount) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Language, b.Language))
	})
	return list[:min(len(list), overviewLanguages)]
}

// mainDefinitions lists the public definitions of the first level of a file.
func mainDefinitions(f store.FileEntry, syntax store.Syntax) []MainDefinition {
	var list []MainDefinition
	for _, d := range syntax.Definitions {
		first, _ := utf8.DecodeRuneInString(d.Name)
		public := f.Language != "Go" && !strings.HasPrefix(d.Name, "_") || unicode.IsUpper(first)
		if d.Parent >= 0 || !public || !tells(d.Kind) {
			continue
		}
		list = append(list, MainDefinition{d.Name, d.Kind, merkle.QuotePath(f.Path), int(d.StartLine), int(d.EndLine)})
	}
	return list
}

package verify

import (
	"slices"
	"strings"

	"github.com/freshet/freshet/mcp/tool"
)

// maxDifferences is how many differing lines a verification names.
const maxDifferences = 100

// differ gathers what differs between an index and a rebuild.
type differ struct{ verification tool.Verification }

// side is the canonical lines of one side, by path.
type side struct {
	name  string
	lines map[string][]string
}

func (d *differ) side(name string) *side { return &side{name: name, lines: map[string][]string{}} }

func (s *side) add(line string) error {
	path, _, _ := strings.Cut(line, "\t")
	s.lines[path] = append(s.lines[path], line)
	return nil
}

// compare names the lines that only one side has.
func (d *differ) compare(a, b *side) error {
	paths := map[string]bool{}
	for _, s := range []*side{a, b} {
		for path := range s.lines {
			paths[path] = true
		}
	}
	sorted := make([]string, 0, len(paths))
	for path := range paths {
		sorted = append(sorted, path)
	}
	slices.Sort(sorted)
	for _, path := range sorted {
		if slices.Equal(a.lines[path], b.lines[path]) {
			continue
		}
		d.only(a.name, path, a.lines[path], b.lines[path])
		d.only(b.name, path, b.lines[path], a.lines[path])
	}
	return nil
}

func (d *differ) only(name, path string, has, lacks []string) {
	for _, line := range has {
		if _, found := slices.BinarySearch(lacks, line); !found {
			d.note(tool.Difference{Side: name, Path: path, Line: line})
		}
	}
}

func (d *differ) note(difference tool.Difference) {
	d.verification.DifferenceCount++
	if len(d.verification.Differences) < maxDifferences {
		d.verification.Differences = append(d.verification.Differences, difference)
	}
}

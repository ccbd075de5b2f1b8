package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMakefile: a file with the name of a target keeps none from being made, and CI runs
// the tests, the simulation, planted bugs and the topology.
func TestMakefile(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	makefile := read("Makefile")
	_, phony, _ := strings.Cut(makefile, "\n.PHONY:")
	phony, _, _ = strings.Cut(phony, "\n")
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):.*## `).FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, m[1])
	}
	declared := strings.Fields(phony)
	slices.Sort(targets)
	slices.Sort(declared)
	if len(targets) == 0 || !slices.Equal(targets, declared) {
		t.Errorf("targets %v\n.PHONY  %v", targets, declared)
	}
	ci := read(filepath.Join(".ci", "run"))
	for _, line := range []string{"make test", "make simulate", "make mutants MUTANTS=rotating", "make topology"} {
		if !strings.Contains(ci, line+"\n") {
			t.Errorf(".ci/run does not run %s", line)
		}
	}
}

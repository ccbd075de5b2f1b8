package host

import (
	"strings"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
)

// why tells of a path what was chunked and embedded by the same rule as the store that
// sealed it, and says so when the rows of a file that is served were lost since.
func TestWhyAgreesWithTheStore(t *testing.T) {
	t.Parallel()
	s, root := connect(t, t.TempDir()), tree(t)
	id := store.CodebaseID(must(t, s, "index", map[string]any{"path": root}).Codebase.ID)
	host, err := s.hosting()
	check(t, err)
	codebase := sealedFull(t, host, id)
	const path = "pkg1/file1.go"
	file, err := host.store.File(t.Context(), id, codebase.Current, path)
	check(t, err)
	steps := func() map[string]tool.WhyStep {
		t.Helper()
		report, err := host.backend.Inspector.Why(t.Context(), id, path)
		check(t, err)
		if !report.Searchable {
			t.Errorf("%s is not searchable: %+v", path, report)
		}
		standing, err := store.StandingOf(t.Context(), host.store, id, file, host.recipe)
		check(t, err)
		named := map[string]tool.WhyStep{}
		for _, step := range report.Steps {
			named[step.Step] = step
		}
		if named["chunked"].OK != (standing.Lacks != store.StageChunk) || named["embedded"].OK != (standing.Lacks == "") {
			t.Errorf("steps %+v of a file that stands as %+v", report.Steps, standing)
		}
		return named
	}
	if sealed := steps()["sealed"]; !strings.HasSuffix(sealed.Detail, "is served at level full") {
		t.Errorf("sealed: %+v", sealed)
	}
	check(t, host.store.DropSyntax(t.Context(), []store.SyntaxKey{store.NewRule(host.recipe, nil).Key(file)}))
	if sealed := steps()["sealed"]; !strings.Contains(sealed.Detail, "lost since") || !strings.Contains(sealed.Detail, "freshet reindex") {
		t.Errorf("sealed, without its rows: %+v", sealed)
	}
}

// sealedFull waits until a codebase serves a full snapshot.
func sealedFull(t *testing.T, host *Host, id store.CodebaseID) store.Codebase {
	t.Helper()
	for {
		changed := host.hub.Changed(id)
		codebase, err := host.store.Codebase(t.Context(), id)
		check(t, err)
		if codebase.Current > 0 {
			served, err := host.store.Snapshot(t.Context(), id, codebase.Current)
			check(t, err)
			if served.Level == store.LevelFull {
				return codebase
			}
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("not sealed")
		}
	}
}

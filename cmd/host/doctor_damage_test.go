package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/doctor"
	"github.com/freshet/freshet/mcp/tool"
)

// TestDiagnoseDamage finds a flipped bit of a content, a page of nothing, a segment and a log
// that were cut, and calls each damage.
func TestDiagnoseDamage(t *testing.T) {
	t.Parallel()
	original, root := t.TempDir(), tree(t)
	s := connect(t, original)
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	check(t, s.Close())
	cases := map[string]struct {
		check  string
		damage func(home string)
	}{
		"nothing": {"", func(string) {}},
		"page": {"store", func(home string) {
			eachPage(t, home, "pkg1/file1.go", func(page []byte) { clear(page) })
		}},
		"header": {"store", func(home string) {
			eachPage(t, home, "SQLite format 3\x00", func(page []byte) { clear(page) })
		}},
		"segment": {"store", func(home string) {
			names, err := filepath.Glob(filepath.Join(home, datadir.StoreName, "segments", "*.seg"))
			check(t, err)
			check(t, os.Truncate(names[0], 100))
		}},
		"log": {"log", func(home string) {
			eachBlock(t, datadir.LogPath(home), func(path string, data []byte) { check(t, os.Truncate(path, int64(len(data)/2))) })
		}},
	}
	for name, c := range cases {
		home := t.TempDir()
		check(t, os.CopyFS(home, os.DirFS(original)))
		c.damage(home)
		for _, f := range doctor.Diagnose(t.Context(), doctor.Options{Home: home, Version: "test"}, root) {
			if f.Damage != (f.Check == c.check) || f.Damage && (f.Grade != tool.GradeBad || f.Advice == "") {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

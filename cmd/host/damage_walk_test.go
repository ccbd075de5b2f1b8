package host

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/store/search"
)

var damageAll = flag.Bool("damage.all", false, "walk every kind of damage of every part of a data directory, not today's share")

// damageShares is into how many shares the walk is divided; each day has another one.
const damageShares = 12

// today is which of a number of shares is walked today.
func today(shares int) int { return int(time.Now().Unix()/86400) % shares }

// part is a run of bytes of a file of a data directory: a page of the database, or a file.
type part struct {
	name, file string
	page       int64 // of the database, from 1; 0 is the whole file
}

// kinds of damage, on the bytes of a part, those of its neighbour and of an older copy.
var damageKinds = []string{"zeroed", "truncated", "flipped", "swapped", "older", "removed"}

// Every kind of damage of every part of an embedded data directory, done before the start,
// is answered rightly, or labelled or refused with a way out, and `verify --repair` gets out
// of it. No text is embedded again whose vector can be read.
func TestDamageWalk(t *testing.T) {
	t.Parallel()
	home, older, killed, root := t.TempDir(), t.TempDir(), t.TempDir(), tree(t)
	e := newDistant(t)
	s := e.join(t, home)
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	check(t, s.Close())
	check(t, os.CopyFS(older, os.DirFS(home)))
	write(t, root, "pkg0/later.go", "package pkg\n\n// Laterword came after the copy.\nfunc Laterword() {}\n")
	s = e.join(t, home)
	must(t, s, "search", map[string]any{"query": "laterword", "mode": "text", "codebase": root, "session_id": "walk", "max_wait_ms": 300000})
	must(t, s, "sync", map[string]any{"codebase": root, "wait": true})
	copyFiles(t, killed, home)
	check(t, s.Close())

	cases := casesOf(partsOf(t, home), home)
	for _, p := range partsOf(t, killed) { // what only a host that was killed leaves behind
		if _, err := os.Stat(filepath.Join(home, p.file)); err != nil {
			cases = append(cases, casesOf([]part{p}, killed)...)
		}
	}
	var mu sync.Mutex
	var rows []string
	t.Cleanup(func() {
		slices.Sort(rows)
		t.Logf("%d of %d cases: texts embedded again, outcome\n%s", len(rows), len(cases), strings.Join(rows, "\n"))
	})
	share := today(damageShares)
	for i, c := range cases {
		if !*damageAll && i%damageShares != share {
			continue
		}
		t.Run(c.part.name+"/"+c.kind, func(t *testing.T) {
			t.Parallel()
			e, damaged := newDistant(t), t.TempDir()
			copyFiles(t, damaged, c.home)
			if !hurt(t, damaged, older, c.part, c.kind, c.neighbour) {
				return
			}
			outcome := survive(t, e, damaged, root)
			again := e.texts.Load()
			if again > 0 && !holdsVectors(c) {
				t.Errorf("%d texts were embedded again", again)
			}
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, fmt.Sprintf("%-40s %-10s %2d  %s", c.part.name, c.kind, again, outcome))
		})
	}
}

// damageCase is one damage of one part of a data directory.
type damageCase struct {
	home            string
	part, neighbour part
	kind            string
}

func casesOf(parts []part, home string) []damageCase {
	var cases []damageCase
	for i, p := range parts {
		for _, kind := range damageKinds {
			cases = append(cases, damageCase{home, p, parts[(i+1)%len(parts)], kind})
		}
	}
	return cases
}

// holdsVectors tells whether a damage takes away vectors, or what says whose they are.
func holdsVectors(c damageCase) bool {
	whole := c.part.page == 0 && strings.HasPrefix(filepath.Base(c.part.file), "freshet.db")
	return whole || slices.ContainsFunc([]part{c.part, c.neighbour}, func(p part) bool {
		return (p == c.part || c.kind == "swapped") && (p.name == "table vectors" || p.name == "table names")
	})
}

// copyFiles copies a data directory, of a host that may be running, without its sockets and
// without what the host removes meanwhile.
func copyFiles(t *testing.T, to, from string) {
	t.Helper()
	check(t, filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		check(t, err)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		check(t, err)
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	}))
}

// partsOf lists the root page of every table and index, and every other file.
func partsOf(t *testing.T, home string) []part {
	t.Helper()
	var parts []part
	base := filepath.Join(datadir.StoreName, "freshet.db")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, base)+"?mode=ro")
	check(t, err)
	rows, err := db.QueryContext(t.Context(), "SELECT type, name, rootpage FROM sqlite_schema WHERE rootpage > 0 ORDER BY name")
	check(t, err)
	parts = append(parts, part{"page of schema", base, 1})
	for rows.Next() {
		var kind, name string
		var page int64
		check(t, rows.Scan(&kind, &name, &page))
		parts = append(parts, part{kind + " " + name, base, page})
	}
	check(t, rows.Err())
	check(t, rows.Close())
	check(t, db.Close())
	check(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, "-shm") {
			return err
		}
		name, err := filepath.Rel(home, path)
		parts = append(parts, part{"file " + filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name), name, 0})
		return err
	}))
	return parts
}

// hurt damages a part. It returns false where a kind has no meaning for it.
func hurt(t *testing.T, home, older string, p part, kind string, neighbour part) bool {
	t.Helper()
	const size = 8192
	path := filepath.Join(home, p.file)
	data, err := os.ReadFile(path)
	check(t, err)
	at, end := int64(0), int64(len(data))
	if p.page > 0 {
		at, end = (p.page-1)*size, p.page*size
	}
	bytes := data[at:end]
	switch kind {
	case "zeroed":
		clear(bytes)
	case "truncated":
		if p.page > 0 {
			clear(bytes[size/2:])
			break
		}
		data = data[:len(data)/2]
	case "flipped":
		if len(bytes) == 0 {
			return false
		}
		bytes[len(bytes)*2/3] ^= 0x10
	case "swapped":
		if p.page == 0 && neighbour.page == 0 && filepath.Ext(p.file) == filepath.Ext(neighbour.file) {
			other, err := os.ReadFile(filepath.Join(home, neighbour.file))
			check(t, err)
			overwrite(t, filepath.Join(home, neighbour.file), data)
			data = other
			break
		}
		if p.page == 0 || neighbour.page == 0 {
			return false
		}
		other := data[(neighbour.page-1)*size : neighbour.page*size]
		kept := slices.Clone(other)
		copy(other, bytes)
		copy(bytes, kept)
	case "older":
		before, err := os.ReadFile(filepath.Join(older, p.file))
		if err != nil || int64(len(before)) < end && p.page > 0 {
			return false
		}
		if p.page == 0 {
			data = before
			break
		}
		copy(bytes, before[at:end])
	case "removed":
		if p.page > 0 {
			return false
		}
		check(t, os.Remove(path))
		return true
	}
	overwrite(t, path, data)
	return true
}

// overwrite writes over a file in place, as a disk does that loses bytes.
func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteAt(data, 0)
	check(t, errors.Join(err, f.Truncate(int64(len(data))), f.Close()))
}

// survive asks a damaged data directory and repairs it, and returns what happened.
func survive(t *testing.T, e *distant, home, root string) string {
	t.Helper()
	s := e.join(t, home)
	params := map[string]any{"query": "laterword", "mode": "text", "codebase": root, "max_wait_ms": 300000, "limit": 1}
	outcome := "healed unasked, or not met"
	found := func() bool {
		envelope := patient(t, s, "search", params)
		if envelope.Error != nil {
			outcome = "refused, repaired by verify --repair"
			if len(envelope.NextSteps) == 0 {
				t.Errorf("refused without a way out: %v", envelope.Error)
			}
			return false
		}
		proven := envelope.Freshness.State == search.Current || envelope.Freshness.State == search.CaughtUp
		right := len(envelope.Results) > 0
		if !right && proven && len(envelope.Warnings) == 0 {
			t.Errorf("wrong and unlabelled: %+v", envelope.Freshness)
		}
		if !right || !proven {
			outcome = "labelled, repaired by verify --repair"
		}
		return right && proven
	}
	found()
	v := patient(t, s, "verify", map[string]any{"codebase": root, "repair": true})
	if v.Error != nil && len(v.NextSteps) > 0 && v.Error.Code == "codebase_not_found" {
		outcome += ", then freshet index"
		must(t, s, "index", map[string]any{"path": root, "wait": true})
	} else if v.Error != nil {
		t.Fatalf("verify --repair: %v", v.Error)
	}
	before := outcome
	if v := must(t, s, "verify", map[string]any{"codebase": root}); !v.Equal {
		t.Errorf("after the repair: %+v", v.Verification)
	}
	if !found() {
		t.Error("the word is not found after the repair")
	}
	return before
}

package host

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/store/search"
)

const (
	// liveShares is into how many shares the walk under a live host is divided.
	liveShares = 16
	// livePlaces is how many data directories of their own the walk is spread over.
	livePlaces = 4
)

// liveKinds are the kinds of damage under a live host. A file that is replaced is put back
// from an older copy under another inode, one that is older in the same.
var liveKinds = append(slices.Clone(damageKinds), "replaced")

// Every kind of damage of every part of an embedded data directory, done while its host runs,
// is answered rightly, or labelled, or refused with what is damaged and a way out, for the
// host and for a process that comes to it, over edits too. `verify --repair` gets out of it,
// and so does what is written over it: the next host has all. No text is embedded again whose
// vector can be read.
func TestDamageWalkUnderALiveHost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var rows []string
	t.Cleanup(func() {
		slices.Sort(rows)
		t.Logf("%d cases: texts embedded again, outcome\n%s", len(rows), strings.Join(rows, "\n"))
	})
	share := today(liveShares)
	for place := range livePlaces {
		t.Run(fmt.Sprintf("place %d", place), func(t *testing.T) {
			t.Parallel()
			p := newLivePlace(t)
			for i, part := range p.parts {
				for _, kind := range liveKinds {
					sum := fnv.New32a()
					_, _ = fmt.Fprintf(sum, "%s/%s", sharedName(part.name), kind)
					number := int(sum.Sum32())
					if number%livePlaces != place || !*damageAll && number/livePlaces%liveShares != share {
						continue
					}
					t.Run(part.name+"/"+kind, func(t *testing.T) {
						row := p.walk(t, part, p.parts[(i+1)%len(p.parts)], kind)
						if row != "" {
							mu.Lock()
							defer mu.Unlock()
							rows = append(rows, row)
						}
					})
				}
			}
		})
	}
}

// sharedName is the name of a part in every data directory: consumers have names of their own.
func sharedName(name string) string {
	for _, stage := range []string{"chunk-bulk-", "chunk-", "embed-bulk-", "embed-", "apply-"} {
		if _, rest, ok := strings.Cut(name, " "+stage); ok {
			_, file, _ := strings.Cut(rest, "/")
			return stage + file
		}
	}
	return name
}

// livePlace is a tree with an index of it that the cases of a walk begin from, one by one.
type livePlace struct {
	home, older, root string
	parts             []part
}

func newLivePlace(t *testing.T) *livePlace {
	t.Helper()
	p := &livePlace{home: t.TempDir(), older: t.TempDir(), root: tree(t)}
	e := newDistant(t)
	s := e.join(t, p.home)
	must(t, s, "index", map[string]any{"path": p.root, "wait": true})
	check(t, s.Close())
	copyFiles(t, p.older, p.home)
	write(t, p.root, "pkg0/later.go", "package pkg\n\n// Laterword came after the copy.\nfunc Laterword() {}\n")
	s = e.join(t, p.home)
	must(t, s, "sync", map[string]any{"codebase": p.root, "wait": true})
	check(t, s.Close())
	s = e.join(t, t.TempDir()) // only to see what a host that runs has
	check(t, s.Close())
	l := p.begin(t, e)
	killed := t.TempDir()
	copyFiles(t, killed, l.home)
	l.end(t)
	p.parts = append(partsOf(t, killed), part{name: "socket", file: datadir.SocketName})
	return p
}

// live is a running host in a copy of the data directory of a place.
type live struct {
	*livePlace
	home         string
	host, client *Session
}

// begin starts a host that has taken in an edit since the copy, with a client.
func (p *livePlace) begin(t *testing.T, e *distant) *live {
	t.Helper()
	l := &live{livePlace: p, home: t.TempDir()}
	copyFiles(t, l.home, p.home)
	l.host = e.join(t, l.home)
	write(t, p.root, "pkg0/live.go", "package pkg\n\n// Liveword came under the host.\nfunc Liveword() {}\n")
	must(t, l.host, "search", map[string]any{"query": "liveword", "mode": "text", "codebase": p.root, "session_id": "walk", "max_wait_ms": 60000})
	must(t, l.host, "sync", map[string]any{"codebase": p.root, "wait": true})
	l.client = e.join(t, l.home)
	must(t, l.client, "search", map[string]any{"query": "laterword", "mode": "text", "codebase": p.root})
	return l
}

// end ends host and client and takes the edits back.
func (l *live) end(t *testing.T) {
	t.Helper()
	check(t, l.client.Close())
	check(t, l.host.Close())
	for _, name := range []string{"pkg0/live.go", "pkg0/after.go"} {
		if err := os.Remove(filepath.Join(l.root, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// walk does one damage under a live host and returns a row of the table, nothing for a
// damage that means nothing.
func (p *livePlace) walk(t *testing.T, at, neighbour part, kind string) string {
	e := newDistant(t)
	l := p.begin(t, e)
	defer l.end(t)
	paid := e.texts.Load() + 1 // the edit below has one text
	if !l.hurt(t, at, neighbour, kind) {
		return ""
	}
	var outcomes []string
	note := func(outcome string) {
		if !slices.Contains(outcomes, outcome) {
			outcomes = append(outcomes, outcome)
		}
	}
	note(l.ask(t, l.host, "laterword"))
	note(l.ask(t, l.client, "liveword"))
	write(t, p.root, "pkg0/after.go", "package pkg\n\n// Afterword came after the damage.\nfunc Afterword() {}\n")
	note(l.ask(t, l.client, "afterword"))
	if v := patient(t, l.client, "verify", map[string]any{"codebase": p.root}); v.Error != nil && len(v.NextSteps) == 0 {
		t.Errorf("verify: refused without a way out: %v", v.Error)
	}
	v := patient(t, l.client, "verify", map[string]any{"codebase": p.root, "repair": true})
	if v.Error != nil && len(v.NextSteps) > 0 && v.Error.Code == "codebase_not_found" {
		note("then freshet index")
		must(t, l.client, "index", map[string]any{"path": p.root, "wait": true})
	} else if v.Error != nil {
		t.Fatalf("verify --repair: %v", v.Error)
	}
	check(t, l.client.Close())
	check(t, l.host.Close())
	l.host, l.client = e.join(t, l.home), e.join(t, l.home)
	if v := patient(t, l.host, "verify", map[string]any{"codebase": p.root}); v.Error != nil || !v.Equal {
		t.Errorf("the next host: %+v, %v", v.Verification, v.Error)
	}
	for _, word := range []string{"laterword", "liveword", "afterword"} {
		if outcome := l.ask(t, l.client, word); outcome != "right" {
			t.Errorf("the next host: %s is %s", word, outcome)
		}
	}
	again := e.texts.Load() - paid
	if again > 0 && !holdsVectors(damageCase{part: at, neighbour: neighbour, kind: kind}) {
		t.Errorf("%d texts were embedded again", again)
	}
	return fmt.Sprintf("%-40s %-10s %2d  %s", sharedName(at.name), kind, again, strings.Join(outcomes, ", "))
}

// ask searches for a word that is there and returns how it was answered.
func (l *live) ask(t *testing.T, s *Session, word string) string {
	t.Helper()
	envelope := patient(t, s, "search", map[string]any{"query": word, "mode": "text", "codebase": l.root, "max_wait_ms": 8000, "limit": 1})
	if envelope.Error != nil {
		if len(envelope.NextSteps) == 0 {
			t.Errorf("%s: refused without a way out: %v", word, envelope.Error)
		}
		return "refused: " + strings.ReplaceAll(envelope.Error.Error(), l.home+"/", "")
	}
	proven := envelope.Freshness.State == search.Current || envelope.Freshness.State == search.CaughtUp
	if len(envelope.Results) > 0 && proven {
		return "right"
	}
	if proven && len(envelope.Warnings) == 0 {
		t.Errorf("%s: wrong and unlabelled: %+v", word, envelope.Freshness)
	}
	return "labelled"
}

// hurt damages a part under the host. It returns false where a kind has no meaning for it.
func (l *live) hurt(t *testing.T, at, neighbour part, kind string) bool {
	t.Helper()
	path := filepath.Join(l.home, at.file)
	info, err := os.Lstat(path)
	check(t, err)
	switch {
	case kind == "removed" && at.page == 0:
		check(t, os.Remove(path))
		return true
	case at.name == "socket" && kind == "replaced": // by one that nobody listens on
		check(t, os.Remove(path))
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		check(t, err)
		listener.SetUnlinkOnClose(false)
		check(t, listener.Close())
		return true
	case !info.Mode().IsRegular():
		return false
	case kind != "replaced":
		return hurt(t, l.home, l.older, at, kind, neighbour)
	case at.page > 0:
		return false
	}
	data, err := os.ReadFile(filepath.Join(l.older, at.file))
	if err != nil {
		return false
	}
	check(t, os.WriteFile(path+".other", data, 0o600))
	check(t, os.Rename(path+".other", path))
	return true
}

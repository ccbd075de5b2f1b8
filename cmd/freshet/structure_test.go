package main

import (
	"cmp"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources type-checks packages of the project from their files, tests left out. It reads the
// files itself: what go list says is not part of the test cache's key. Packages of others
// are taken for empty, and what is not known for that is passed over: of the uses of a
// package's own names nearly all are found all the same.
type sources struct {
	root  string
	fset  *token.FileSet
	known map[string]*checked // by import path
}

// checked is a package of the project with what its identifiers stand for.
type checked struct {
	dir   string // below the root
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// Import implements types.Importer.
func (s *sources) Import(importPath string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(importPath, module)
	if !ours {
		p := types.NewPackage(importPath, path.Base(importPath))
		p.MarkComplete()
		return p, nil
	}
	p, err := s.load(dir)
	if err != nil {
		return nil, err
	}
	return p.types, nil
}

// load type-checks the package in a folder.
func (s *sources) load(dir string) (*checked, error) {
	if p := s.known[dir]; p != nil {
		return p, nil
	}
	folder := filepath.Join(s.root, filepath.FromSlash(dir))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	p := &checked{dir: dir, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if built, err := build.Default.MatchFile(folder, name); err != nil || !built {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(s.fset, path.Join(dir, name), data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	config := types.Config{Importer: s, FakeImportC: true, Error: func(error) {}}
	p.types, _ = config.Check(module+dir, s.fset, p.files, p.info) // what others declare is missing
	s.known[dir] = p
	return p, nil
}

// arrows are the uses of one file's declarations by another: from the file that uses to
// those that declare.
type arrows map[string]map[string]bool

func (a arrows) count() (n int) {
	for _, to := range a {
		n += len(to)
	}
	return n
}

// arrowsOf draws the arrows between the files of a package: a file points to another when it
// calls, or passes on, a function or method that the other declares. Types, constants and
// variables draw none: a method may stand in another file than its type, which is no call
// back; nor do methods of an interface, which say nothing of where the call ends.
func (s *sources) arrowsOf(p *checked) arrows {
	all := arrows{}
	for id, object := range p.info.Uses {
		if object.Pkg() != p.types || !object.Pos().IsValid() {
			continue
		}
		f, isFunc := object.(*types.Func)
		if !isFunc {
			continue
		}
		if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			continue
		}
		from, to := s.fset.Position(id.Pos()).Filename, s.fset.Position(object.Pos()).Filename
		if from == to || (object.Parent() != nil && object.Parent() != p.types.Scope()) {
			continue
		}
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		all[from][to] = true
	}
	return all
}

// knots returns the sets of files that reach each other along the arrows, of more than one
// file (Tarjan's strongly connected components).
func (a arrows) knots() [][]string {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var found [][]string
	var visit func(f string)
	visit = func(f string) {
		index[f] = len(index) + 1
		low[f] = index[f]
		stack, on[f] = append(stack, f), true
		for _, to := range slices.Sorted(maps.Keys(a[f])) {
			if index[to] == 0 {
				visit(to)
				low[f] = min(low[f], low[to])
			} else if on[to] {
				low[f] = min(low[f], index[to])
			}
		}
		if low[f] != index[f] {
			return
		}
		at := slices.Index(stack, f)
		if knot := slices.Clone(stack[at:]); len(knot) > 1 {
			found = append(found, knot)
		}
		for _, done := range stack[at:] {
			on[done] = false
		}
		stack = stack[:at]
	}
	for _, f := range slices.Sorted(maps.Keys(a)) {
		if index[f] == 0 {
			visit(f)
		}
	}
	return found
}

// upward returns the arrows that run up in the best order of the files that is found, in
// which callers stand above those that they call. Only arrows inside a knot can: for each
// knot it orders the files greedily (Eades, Lin, Smyth), and then moves single files for as
// long as that gains something.
func (a arrows) upward() (up []string) {
	for _, knot := range a.knots() {
		slices.Sort(knot)
		order := a.improved(a.greedy(knot))
		place := map[string]int{}
		for i, f := range order {
			place[f] = i
		}
		for _, from := range order {
			for _, to := range slices.Sorted(maps.Keys(a[from])) {
				if at, inside := place[to]; inside && at < place[from] {
					up = append(up, path.Base(from)+" -> "+path.Base(to))
				}
			}
		}
	}
	return up
}

// greedy takes file after file: one that calls none of the rest goes to the end, else the one
// with the most calls out against those in goes to the front.
func (a arrows) greedy(files []string) []string {
	rest := slices.Clone(files)
	var first, last []string
	for len(rest) > 0 {
		best, bestAt, sink := -1<<30, 0, false
		for i, f := range rest {
			out, in := 0, 0
			for _, g := range rest {
				if a[f][g] {
					out++
				}
				if a[g][f] {
					in++
				}
			}
			if out == 0 {
				bestAt, sink = i, true
				break
			}
			if out-in > best {
				best, bestAt = out-in, i
			}
		}
		f := rest[bestAt]
		rest = slices.Delete(rest, bestAt, bestAt+1)
		if sink {
			last = append(last, f)
		} else {
			first = append(first, f)
		}
	}
	slices.Reverse(last)
	return append(first, last...)
}

// improved moves single files to where fewer arrows run up, until no move gains.
func (a arrows) improved(order []string) []string {
	for gained := true; gained; {
		gained = false
		for i := range order {
			f := order[i]
			best, bestAt, delta := 0, i, 0
			for j := i - 1; j >= 0; j-- { // up past order[j]
				delta += weigh(a[f][order[j]], a[order[j]][f])
				if delta < best {
					best, bestAt = delta, j
				}
			}
			delta = 0
			for j := i + 1; j < len(order); j++ { // down past order[j]
				delta += weigh(a[order[j]][f], a[f][order[j]])
				if delta < best {
					best, bestAt = delta, j
				}
			}
			if bestAt != i {
				order = slices.Insert(slices.Delete(order, i, i+1), bestAt, f)
				gained = true
			}
		}
	}
	return order
}

// weigh is what a move changes: an arrow that ran up runs down, one that ran down runs up.
func weigh(righted, turned bool) (delta int) {
	if righted {
		delta--
	}
	if turned {
		delta++
	}
	return delta
}

// shape is what is measured of a package.
type shape struct {
	dir           string
	files, arrows int
	tangled       int      // arrows inside knots
	up            []string // arrows that run up
	embedsHost    []string // structs that embed a struct named Host
}

// embedding lists the structs that embed a type of a name.
func (c *checked) embedding(name string) (found []string) {
	for _, file := range c.files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					if len(f.Names) == 0 && strings.TrimPrefix(types.ExprString(f.Type), "*") == name {
						found = append(found, spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return found
}

func (s *sources) shapeOf(p *checked) shape {
	a := s.arrowsOf(p)
	out := shape{dir: p.dir, files: len(p.files), arrows: a.count(), up: a.upward(), embedsHost: p.embedding("Host")}
	for _, knot := range a.knots() {
		for _, from := range knot {
			for to := range a[from] {
				if slices.Contains(knot, to) {
					out.tangled++
				}
			}
		}
	}
	return out
}

// measure measures every package of the project, tests left out.
func measure(t *testing.T) []shape {
	t.Helper()
	s := &sources{root: filepath.Join("..", ".."), fset: token.NewFileSet(), known: map[string]*checked{}}
	var all []shape
	err := fs.WalkDir(os.DirFS(s.root), ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		if err != nil || !entry.IsDir() {
			return err
		}
		if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "docs") {
			return fs.SkipDir
		}
		p, err := s.load(name)
		if err == nil && len(p.files) > 0 {
			all = append(all, s.shapeOf(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b shape) int { return cmp.Compare(b.share(b.tangled), a.share(a.tangled)) })
	return all
}

// share is what a number of the arrows is of all, in percent.
func (s shape) share(n int) float64 { return 100 * float64(n) / float64(max(s.arrows, 1)) }

// mostUpward is the share of the arrows inside a package, in percent, that may run up, and
// mostTangled the share that may lie inside knots.
const (
	mostUpward  = 10
	mostTangled = 10
)

// knotted are the packages of which more lies inside knots than may, with the number of
// arrows there today, which may only fall. A package that is mended leaves the list.
func knotted() map[string]int {
	return map[string]int{
		"cmd/simulation":       7,
		"pipeline/bus/natsbus": 45,
	}
}

// TestCallsRunOneWay: inside a package the file that is read first stands on top and calls
// those below it. Of all arrows between files at most a tenth may run back up, in the order
// in which the fewest do; and at most a tenth may lie inside knots, of files that reach each
// other, save in the packages that are listed. With -v it prints the figures.
func TestCallsRunOneWay(t *testing.T) {
	t.Parallel()
	listed := knotted()
	for _, s := range measure(t) {
		t.Logf("%-28s %3d files %4d arrows %3d up (%2.0f%%) %3d in knots (%2.0f%%)", s.dir, s.files, s.arrows, len(s.up), s.share(len(s.up)), s.tangled, s.share(s.tangled))
		if s.share(len(s.up)) > mostUpward {
			t.Errorf("%s: %d of %d arrows between files run up: %s; move what both need to a file below them", s.dir, len(s.up), s.arrows, strings.Join(s.up, ", "))
		}
		most, exception := listed[s.dir]
		delete(listed, s.dir)
		tooMany := s.share(s.tangled) > mostTangled
		switch {
		case tooMany && !exception:
			t.Errorf("%s: %d of %d arrows lie inside knots, of which one comes undone by any of: %s", s.dir, s.tangled, s.arrows, strings.Join(s.up, ", "))
		case exception && s.tangled > most:
			t.Errorf("%s: %d arrows lie inside knots, there were %d; look at: %s", s.dir, s.tangled, most, strings.Join(s.up, ", "))
		case exception && !tooMany:
			t.Errorf("%s: only %d of %d arrows lie inside knots; take it out of the list", s.dir, s.tangled, s.arrows)
		}
		if len(s.embedsHost) > 0 {
			t.Errorf("%s: %s embed the host; name what they need", s.dir, strings.Join(s.embedsHost, ", "))
		}
	}
	for dir := range listed {
		t.Errorf("%s is in the list and not in the project", dir)
	}
}

// hostLines is how long package host may be: the lock, the sessions and the wiring.
const hostLines = 1_500

// TestTheHostIsOnlyWiring bounds what package host exports and how long it is: what the
// handlers need is done by packages of their own.
func TestTheHostIsOnlyWiring(t *testing.T) {
	t.Parallel()
	s := &sources{root: filepath.Join("..", ".."), fset: token.NewFileSet(), known: map[string]*checked{}}
	p, err := s.load("cmd/host")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range p.files {
		lines += s.fset.File(file.Pos()).LineCount()
	}
	if lines > hostLines {
		t.Errorf("package host has %d lines, at most %d: move what is no wiring to a package of its own", lines, hostLines)
	}
	var exported []string
	for _, name := range p.types.Scope().Names() {
		if token.IsExported(name) {
			exported = append(exported, name)
		}
	}
	if want := []string{"Connect", "Host", "NewSession", "Open", "Options", "Session"}; !slices.Equal(exported, want) {
		t.Errorf("package host exports %v, want %v", exported, want)
	}
}

// TestArrowsAreJudged plants packages and expects the arrows that run up to be found.
func TestArrowsAreJudged(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		files map[string]string
		up    []string
		host  []string
	}{
		{name: "down only", files: map[string]string{"a.go": "func a() { b(); c() }", "b.go": "func b() { c() }", "c.go": "func c() {}"}},
		{name: "a circle", files: map[string]string{"a.go": "func a() { b() }", "b.go": "func b() { c() }", "c.go": "func c() { a() }"}, up: []string{"c.go -> a.go"}},
		{name: "a helper above its callers", files: map[string]string{
			"a.go": "func a() { b(); c(); d() }; func h() {}", "b.go": "func b() { c(); d(); h() }", "c.go": "func c() { d() }", "d.go": "func d() {}",
		}, up: []string{"b.go -> a.go"}},
		{name: "a method in another file than its type", files: map[string]string{
			"a.go": "type T struct{}; func (t T) a() { t.b() }", "b.go": "func (t T) b() {}",
		}},
		{name: "methods that call each other", files: map[string]string{
			"a.go": "type T struct{}; func (t T) a() { t.b() }", "b.go": "func (t T) b() { t.a() }",
		}, up: []string{"b.go -> a.go"}},
		{name: "the method of an interface", files: map[string]string{
			"a.go": "type I interface{ m() }; func a() { b(nil) }", "b.go": "func b(i I) { i.m() }",
		}},
		{name: "a function that is passed on", files: map[string]string{"a.go": "func a() { b() }", "b.go": "func b() func() { return a }"}, up: []string{"b.go -> a.go"}},
		{name: "the host embedded", files: map[string]string{"a.go": "type Host struct{}; type role struct{ *Host }; type named struct{ host *Host }"}, host: []string{"role"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(root, name), []byte("package p\n\n"+text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := &sources{root: root, fset: token.NewFileSet(), known: map[string]*checked{}}
			p, err := s.load(".")
			if err != nil {
				t.Fatal(err)
			}
			if got := s.shapeOf(p); !slices.Equal(got.up, c.up) || !slices.Equal(got.embedsHost, c.host) {
				t.Errorf("up %v, want %v; embed the host %v, want %v", got.up, c.up, got.embedsHost, c.host)
			}
		})
	}
}

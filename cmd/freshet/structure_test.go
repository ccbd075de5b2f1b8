package main

import (
	"cmp"
	"fmt"
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
	"sync"
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

// arrowsOf draws the arrows between the files of a package: a file points to another when
// it uses a function, method, type, field, constant or variable that the other declares.
func (s *sources) arrowsOf(p *checked) arrows {
	all := arrows{}
	for id, object := range p.info.Uses {
		if object.Pkg() != p.types || !object.Pos().IsValid() {
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

// greedy takes, again and again, a file that none of the rest uses to the end, one that uses
// none of the rest... and else the one with the most arrows out against those in.
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
	dir                    string
	files, arrows, tangled int
	up                     []string
	exported               int
	embeds                 []string // Host or another struct of everything, embedded
}

func (s *sources) shapeOf(p *checked) shape {
	a := s.arrowsOf(p)
	out := shape{dir: p.dir, files: len(p.files), arrows: a.count(), up: a.upward()}
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

var measure = sync.OnceValues(func() ([]shape, error) {
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
	slices.SortFunc(all, func(a, b shape) int { return cmp.Compare(len(b.up)*1000/max(b.arrows, 1), len(a.up)*1000/max(a.arrows, 1)) })
	return all, err
})

func TestStructure(t *testing.T) {
	shapes, err := measure()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shapes {
		fmt.Printf("%-28s %3d files %4d arrows %3d up (%2d%%) %3d tangled (%2d%%) %v\n", s.dir, s.files, s.arrows, len(s.up), len(s.up)*100/max(s.arrows, 1), s.tangled, s.tangled*100/max(s.arrows, 1), s.up[:min(len(s.up), 40)])
	}
}

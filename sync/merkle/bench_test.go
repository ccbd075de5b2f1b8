package merkle

import (
	"fmt"
	"maps"
	"testing"
)

// manyFiles is a tree of 100,000 files in 5,000 directories.
func manyFiles() map[string]Leaf {
	files := make(map[string]Leaf, 100_000)
	for i := range 100_000 {
		path := fmt.Sprintf("top%d/middle%d/low%d/file%d.go", i%10, i%500, i%5000, i)
		files[path] = leafOf(path)
	}
	return files
}

func BenchmarkBuild(b *testing.B) {
	files := manyFiles()
	for b.Loop() {
		build(b, files)
	}
}

func BenchmarkEditOne(b *testing.B) {
	tree := build(b, manyFiles())
	i := 0
	for b.Loop() {
		i++
		path := fmt.Sprintf("top%d/middle%d/low%d/file%d.go", i%10, i%500, i%5000, i%100_000)
		next, err := tree.Edit(maps.All(map[string]*Leaf{path: ptr(Leaf{XX: uint64(i), Content: Hash{byte(i), 1}})}))
		if err != nil || next == tree {
			b.Fatal(err)
		}
		tree = next
	}
}

func BenchmarkDiffOfOneChange(b *testing.B) {
	old := build(b, manyFiles())
	next, err := old.Edit(maps.All(map[string]*Leaf{"top7/middle7/low7/file7.go": ptr(leafOf("new"))}))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if len(Diff(old, next)) != 1 {
			b.Fatal("want one change")
		}
	}
}

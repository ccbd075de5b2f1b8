package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/freshet/freshet/cmd/train/corpus"
	"github.com/freshet/freshet/cmd/train/mine"
	"github.com/freshet/freshet/cmd/train/pairs"
)

// compare prints a line of the manifest for each file of the corpus that is a near copy of
// a file of the trees named as arguments.
func compare(ctx context.Context, s *settings) error {
	m, cache, err := open(ctx, s)
	if err != nil {
		return err
	}
	a, err := keepApart(s.args)
	if err != nil {
		return err
	}
	exclusion := corpus.NewExclusion()
	for _, source := range m.Sources {
		err := cache.Walk(ctx, source, corpus.Visit{
			Wants: func(name string, size int64) bool { return a.miner.Wants(name, size) && !exclusion.File(name) },
			File:  func(name string, data []byte) error { a.copied(source, name, data); return ctx.Err() },
		})
		if errors.Is(err, corpus.ErrGone) {
			fmt.Fprintln(os.Stderr, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// apart is the trees that the corpus must hold no copies of.
type apart struct {
	shingles *corpus.Shingles
	miner    *mine.Miner // says which files count
}

func keepApart(roots []string) (*apart, error) {
	a := &apart{shingles: corpus.NewShingles(), miner: mine.New(pairs.New(), mine.Defaults())}
	for _, root := range roots {
		if err := addTree(a.shingles, a.miner, root); err != nil {
			return nil, fmt.Errorf("compare with %s: %w", root, err)
		}
	}
	return a, nil
}

// copied reports whether a file is a near copy, and prints the line that leaves it out.
func (a *apart) copied(source corpus.Source, name string, data []byte) bool {
	if !a.shingles.Copied(data) {
		return false
	}
	fmt.Println("without", source, name)
	return true
}

func addTree(shingles *corpus.Shingles, miner *mine.Miner, root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !miner.Wants(filepath.Base(name), 0) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		shingles.Add(data)
		return nil
	})
}

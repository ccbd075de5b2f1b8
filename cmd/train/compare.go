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
	miner := mine.New(pairs.New(), mine.Defaults())
	shingles := corpus.NewShingles()
	for _, root := range s.args {
		if err := addTree(shingles, miner, root); err != nil {
			return fmt.Errorf("compare with %s: %w", root, err)
		}
	}
	exclusion := corpus.NewExclusion()
	for _, source := range m.Sources {
		err := cache.Walk(ctx, source, corpus.Visit{
			Wants: func(name string, size int64) bool { return miner.Wants(name, size) && !exclusion.File(name) },
			File: func(name string, data []byte) error {
				if shingles.Copied(data) {
					fmt.Println("without", source, name)
				}
				return ctx.Err()
			},
		})
		if errors.Is(err, corpus.ErrGone) {
			fmt.Fprintln(os.Stderr, err)
		} else if err != nil {
			return err
		}
	}
	return nil
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

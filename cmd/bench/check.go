package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// forgetful is a sink that keeps nothing.
type forgetful struct{}

// Content keeps nothing.
func (forgetful) Content(string, merkle.Hash, []byte) error { return nil }

// measureCheck compares the stat proof of an unchanged tree with git status.
func measureCheck(ctx context.Context, s settings) error {
	scanner := scan.New(s.repo, scan.Options{})
	first, err := scanner.Scan(ctx, nil, forgetful{})
	if err != nil {
		return err
	}
	index := first.Index
	var ours, theirs, ratios []float64
	var hashed int64
	for pair := range s.pairs + 1 {
		started := time.Now()
		result, err := scanner.Scan(ctx, index, forgetful{})
		if err != nil {
			return err
		}
		a := time.Since(started)
		index = result.Index
		b, err := gitStatus(ctx, s.repo)
		if err != nil {
			return err
		}
		if pair == 0 {
			continue // it warms up, and reads entries again that were young at the first scan
		}
		hashed += result.Summary.HashedBytes
		ours = append(ours, float64(a.Microseconds())/1000)
		theirs = append(theirs, float64(b.Microseconds())/1000)
		ratios = append(ratios, a.Seconds()/b.Seconds())
	}
	s.printf("%s: %d files, %d directories; load %s\n", filepath.Base(s.repo), first.Summary.Files, first.Summary.Directories, load())
	s.printf("stat proof   %8.2f ms (min %.2f)\n", median(ours), quantile(ours, 0))
	s.printf("git status   %8.2f ms (min %.2f)\n", median(theirs), quantile(theirs, 0))
	s.printf("ratio        %8.2f   bytes hashed by the proofs: %d\n", median(ratios), hashed)
	return rehash(ctx, s, scanner, index)
}

// touched is how many files get a new stat.
const touched = 200

// rehash gives files a new time and compares the bytes that the next scan hashes with the
// bytes of these files.
func rehash(ctx context.Context, s settings, scanner *scan.Scanner, index *scan.Index) error {
	var bytes int64
	files := 0
	now := time.Now()
	for entry := range index.Files() {
		if files++; files > touched {
			break
		}
		path := filepath.Join(s.repo, entry.Path)
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if err := os.Chtimes(path, now, now); err != nil {
			return err
		}
		bytes += info.Size()
	}
	result, err := scanner.Scan(ctx, index, forgetful{})
	if err != nil {
		return err
	}
	s.printf("after %d files got a new stat: %d bytes hashed of %d, ratio %.3f; %d files changed\n",
		min(files, touched), result.Summary.HashedBytes, bytes, float64(result.Summary.HashedBytes)/float64(bytes), len(result.Changed))
	return nil
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// printf writes a line of the report. A report that nobody can read fails no measurement.
func (s settings) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format, args...)
}

// median returns the middle of the values, which it sorts.
func median[T int64 | float64 | time.Duration](values []T) T { return quantile(values, 0.5) }

// quantile returns the value at a fraction of the sorted values.
func quantile[T int64 | float64 | time.Duration](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

// treeSize counts the files of a tree and their bytes, .git apart.
func treeSize(root string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			files++
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes, err
}

// directorySize adds up the files below a directory.
func directorySize(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/freshet/freshet/cmd/train/corpus"
)

// pin prints the manifest lines of the packages on standard input, "KIND NAME [VERSION
// [LICENCE]]" a line. A licence that is given stands for what the package says itself: for
// those that a person must read. What cannot be pinned is named on standard error with the
// reason.
func pin(ctx context.Context, s *settings) error {
	goroot, err := corpus.GOROOT(ctx, s.goroot)
	if err != nil {
		return err
	}
	cache := &corpus.Cache{Dir: s.cache, GOROOT: goroot}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() && ctx.Err() == nil {
		fields := append(strings.Fields(lines.Text()), "", "")
		if len(fields) < 4 || len(fields) > 6 {
			continue
		}
		source, err := cache.Pin(ctx, corpus.Source{Kind: fields[0], Name: fields[1], Version: fields[2],
			Licence: strings.ReplaceAll(fields[3], "_", " ")})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		fmt.Println(source.Line())
	}
	return lines.Err()
}

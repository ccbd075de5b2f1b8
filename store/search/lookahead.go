package search

import (
	"context"
	"runtime"
	"sync"

	"github.com/freshet/freshet/sync/merkle"
)

// lookAhead reads contents and matches them in the order of files, some files before they
// are asked for, on every processor.
type lookAhead struct {
	scan   *scan
	ctx    context.Context //nolint:containedctx // of the one scan that it looks for
	cancel context.CancelFunc
	files  []viewFile
	from   Place // where the first look begins
	begun  int
	queue  []chan fileLook
	turns  chan struct{}
	looks  sync.WaitGroup
}

// newLookAhead looks at the files from the place of the scan on.
func newLookAhead(ctx context.Context, s *scan, files []viewFile) *lookAhead {
	ctx, cancel := context.WithCancel(ctx)
	return &lookAhead{
		scan: s, ctx: ctx, cancel: cancel, files: files, from: s.place, begun: s.place.File, turns: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
}

// stop ends the looks and waits until none is under way.
func (a *lookAhead) stop() {
	a.cancel()
	a.looks.Wait()
}

// next returns where the look at the next file will be.
func (a *lookAhead) next() <-chan fileLook {
	for len(a.queue) < 4*cap(a.turns) && a.begun < len(a.files) {
		f := a.files[a.begun]
		hash := f.part.File(f.file).Entry.Content // read here: what is mapped may fault
		from, first := Place{}, a.begun == a.from.File
		if first {
			from = a.from
		}
		budget := a.scan.budget.share(a.ctx, first)
		done := make(chan fileLook, 1)
		a.looks.Go(func() { done <- a.look(hash, from, budget) })
		a.queue = append(a.queue, done)
		a.begun++
	}
	done := a.queue[0]
	a.queue = a.queue[1:]
	return done
}

func (a *lookAhead) look(content merkle.Hash, from Place, b *budget) fileLook {
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-a.ctx.Done():
		return fileLook{err: a.ctx.Err()}
	}
	data, err := a.scan.source.Content(a.ctx, content)
	if err != nil {
		return fileLook{err: err}
	}
	return a.scan.pattern.look(data, from.Line, from.At, b)
}

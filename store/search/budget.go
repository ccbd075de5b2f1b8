package search

import (
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"
)

// Bounds of a scan. A step is one instruction of a compiled expression tried at one byte,
// which takes at most about 10 ns.
const (
	scanSteps = 1 << 33 // of one answer, unless Options say otherwise
	// lineSteps and lineShare bound what one line may cost, the latter as a part of the steps
	// of an answer: a line that would cost more is never looked at, whatever time there is,
	// and said to be so.
	lineSteps = 1 << 27
	lineShare = 8
	// lookSteps is how much is done between two looks at the clock and the context.
	lookSteps = 1 << 20
	// literalBytes is how many bytes are searched for a text in the time of a step.
	literalBytes = 16
)

var (
	errSpent  = errors.New("budget of the scan is spent")
	errCostly = errors.New("line costs more than a scan may spend on one")
)

// budget bounds a scan by its work and by the clock. The first file or line after the
// place where a scan begins is always finished, so that every answer gets further.
type budget struct {
	ctx      context.Context //nolint:containedctx // of the one scan that it bounds
	now      func() time.Time
	deadline time.Time
	steps    int64 // left
	most     int64 // for one line
	unseen   int64 // steps since the last look at the clock
	began    bool  // a file or line has been finished
}

func (r *run) newBudget(ctx context.Context) *budget {
	return &budget{ctx: ctx, now: r.options.Now, deadline: r.options.Now().Add(r.options.RegexDeadline),
		steps: r.options.RegexSteps, most: max(1, min(lineSteps, r.options.RegexSteps/lineShare))}
}

// share is a budget of the same time and as many steps, for a look at one file: the first
// of the scan or a later one. What the look spends is to be taken off b.
func (b *budget) share(ctx context.Context, first bool) *budget {
	return &budget{ctx: ctx, now: b.now, deadline: b.deadline, steps: b.steps, most: b.most, began: !first}
}

// spent looks at the clock and reports whether the scan has to stop.
func (b *budget) spent() bool {
	b.unseen = 0
	return b.began && (b.steps <= 0 || b.now().After(b.deadline))
}

// take spends steps on a line. It fails with errSpent when there are not as many left, or
// with the error of the context.
func (b *budget) take(steps int64) error {
	if b.began && b.steps < steps {
		return errSpent
	}
	if b.unseen+steps > lookSteps {
		if err := b.look(); err != nil {
			return err
		}
	}
	b.steps, b.unseen = b.steps-steps, b.unseen+steps
	return nil
}

// look fails when the context or the time has ended.
func (b *budget) look() error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if b.spent() {
		return errSpent
	}
	return nil
}

// match spends what a line costs and matches it. A line that costs much is read by the
// expression rune by rune, so that the clock is looked at inside of it.
func (b *budget) match(p *pattern, line []byte) (bool, error) {
	cost := int64(p.size) * int64(len(line)+1)
	if cost > b.most {
		return false, errCostly
	}
	if err := b.take(cost); err != nil {
		return false, err
	}
	if cost <= lookSteps {
		return p.Match(line), nil
	}
	reader := &lineReader{line: line, budget: b, every: max(1, lookSteps/p.size)}
	matched := p.MatchReader(reader)
	return matched && reader.err == nil, reader.err
}

// lineReader gives a line to an expression and ends it early, with err set, when the
// budget is spent.
type lineReader struct {
	line   []byte
	at     int
	every  int // bytes between two looks
	looked int
	budget *budget
	err    error
}

// ReadRune returns the next character of the line, or io.EOF.
func (l *lineReader) ReadRune() (rune, int, error) {
	if l.at >= l.looked+l.every {
		l.looked = l.at
		l.err = l.budget.look()
	}
	if l.err != nil || l.at >= len(l.line) {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(l.line[l.at:])
	l.at += size
	return c, size, nil
}

package chunk

import (
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
)

// Version is the version of the chunking rules that all languages share: it changes
// whenever the same outline would give other chunks.
const Version = "2"

// MaxBytes is the largest content that is parsed; a larger one is cut by lines.
const MaxBytes = 1 << 20

// Grammars maps each language that is read by a grammar or a scanner, under go-enry's
// name, to the version of its parser. The map is the caller's.
func Grammars() map[string]string {
	grammars := map[string]string{}
	for _, l := range languages() {
		grammars[l.name] = l.version
	}
	return grammars
}

// Cut reads a content in this process: use a Pool for contents that are not trusted. A
// content whose parse takes more than its steps is cut as Quarantine does. Equal arguments
// give equal syntaxes, on any machine and under any load.
func Cut(language string, content []byte) store.Syntax {
	c := newCutter(stepLimit)
	defer c.close()
	s, err := c.cut(language, content)
	if err != nil {
		return Quarantine(content)
	}
	return s
}

// Fallback cuts a content on blank lines and indentation. It has no definitions and no
// references. It cannot fail and is linear in the content.
func Fallback(content []byte) store.Syntax {
	return store.Syntax{Cut: store.CutLines, Chunks: pack(content, itemize(indexLines(content), nil))}
}

// Quarantine cuts as Fallback does a content that killed or hung its parser.
func Quarantine(content []byte) store.Syntax {
	s := Fallback(content)
	s.Cut = store.CutQuarantined
	return s
}

// The steps of a parse: hundreds of parse actions, pieces of 4 KiB that the lexer asked
// for, and pages allocated at once. A step takes 20 to 200 microseconds. The densest files
// of the Linux kernel take 40 a kilobyte, those of 1 MiB less than 2,000 in all.
const (
	freeSteps    = 20_000
	bytesPerStep = 16
)

// stepLimit returns the number of steps after which the parse of a content of size bytes is
// canceled. Steps count work and not time, so that the result does not depend on the load of
// the machine (promise 6).
func stepLimit(size int) int { return freeSteps + size/bytesPerStep }

// The steps of a try: more than any file of the Linux kernel takes, and a hundredth of those
// after which a small content is given up.
const (
	tryFreeSteps    = 200
	tryBytesPerStep = 25
	tryMostSteps    = 2_500
)

// tryLimit returns the number of steps after which the try of a content of size bytes ends.
func tryLimit(size int) int { return min(tryFreeSteps+size/tryBytesPerStep, tryMostSteps) }

// errTimeUsedUp is the error of a parse that was canceled by time, on systems where steps
// cannot be counted. It proves nothing about the content.
var errTimeUsedUp = errors.New("the parser used up its time")

// cutter cuts contents one after another and keeps the parsers of the languages it met.
// It is used by one goroutine.
type cutter struct {
	languages map[string]language
	readers   map[string]reader
	limit     func(size int) int // of the steps of a parse
}

func newCutter(limit func(size int) int) *cutter {
	c := &cutter{languages: map[string]language{}, readers: map[string]reader{}, limit: limit}
	for _, l := range languages() {
		c.languages[l.name] = l
	}
	return c
}

func (c *cutter) cut(name string, content []byte) (store.Syntax, error) {
	l, ok := c.languages[name]
	if !ok || len(content) > MaxBytes {
		return Fallback(content), nil
	}
	r, ok := c.readers[name]
	if !ok {
		var err error
		if r, err = l.reader(c.limit); err != nil {
			return store.Syntax{}, fmt.Errorf("open the parser of %s: %w", name, err)
		}
		c.readers[name] = r
	}
	o, err := r.read(content)
	if err != nil {
		return store.Syntax{}, fmt.Errorf("parse %s of %d bytes: %w", name, len(content), err)
	}
	if l.refine != nil {
		l.refine(content, &o)
	}
	return l.finish(indexLines(content), o), nil
}

// close releases the parsers.
func (c *cutter) close() {
	for name, r := range c.readers {
		r.close()
		delete(c.readers, name)
	}
}

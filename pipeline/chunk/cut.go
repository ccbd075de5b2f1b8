package chunk

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
)

// Version is the version of the chunking rules that all languages share: it changes
// whenever the same outline would give other chunks.
const Version = "1"

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
// content whose parser gives up, because ctx is done or the parser's own deadline passed,
// is cut as Quarantine does. Apart from that, equal arguments give equal syntaxes.
func Cut(ctx context.Context, language string, content []byte) store.Syntax {
	c := newCutter(0)
	defer c.close()
	s, err := c.cut(ctx, language, content)
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

// cutter cuts contents one after another and keeps the parsers of the languages it met.
// It is used by one goroutine.
type cutter struct {
	languages map[string]language
	readers   map[string]reader
	deadline  time.Duration // of one parse
}

// parseDeadline is after how long on the clock a parse is given up unless a caller says
// otherwise: a backstop, since a busy machine must not decide how a content is cut. What
// decides is the CPU time that a child allows a content. The
// largest contents take half a second of it.
const parseDeadline = 20 * time.Second

func newCutter(deadline time.Duration) *cutter {
	if deadline <= 0 {
		deadline = parseDeadline
	}
	c := &cutter{languages: map[string]language{}, readers: map[string]reader{}, deadline: deadline}
	for _, l := range languages() {
		c.languages[l.name] = l
	}
	return c
}

func (c *cutter) cut(ctx context.Context, name string, content []byte) (store.Syntax, error) {
	l, ok := c.languages[name]
	if !ok || len(content) > MaxBytes {
		return Fallback(content), nil
	}
	r, ok := c.readers[name]
	if !ok {
		var err error
		if r, err = l.reader(c.deadline); err != nil {
			return store.Syntax{}, fmt.Errorf("open the parser of %s: %w", name, err)
		}
		c.readers[name] = r
	}
	o, err := r.read(ctx, content)
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

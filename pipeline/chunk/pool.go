package chunk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
)

// ErrPoolClosed is returned by Pool.Cut after Close.
var ErrPoolClosed = errors.New("chunk pool is closed")

// Options configure a Pool. Command is needed; the zero value of the rest works.
type Options struct {
	// Command starts a child: a program that calls ServeChild with its standard input and
	// output, and its arguments. The binary usually executes itself.
	Command []string
	// Env is added to the environment of a child, which is empty otherwise.
	Env []string
	// Children is the number of contents that are parsed concurrently; 0 means GOMAXPROCS.
	Children int
	// Timeout bounds the wall time of a child for a content, or for its start, after which it
	// is killed; 0 means five minutes. It guards against a child that hangs: a parse ends by
	// its steps, within seconds of work, and without steps by the CPU time of its child.
	// Neither time decides how a content is cut.
	Timeout time.Duration
	// Log gets warnings about children that died and about missing layers of the sandbox; nil
	// means discard.
	Log *slog.Logger
}

// ChildLost is the error of a content whose child was killed from outside, did not answer in
// time or used up its CPU time. The machine may be the cause: the caller counts a failure and
// parks the file after the last try. It must not cut the content in another way for it, since
// the way in which it is cut is part of the digest.
type ChildLost struct {
	Language string
	Size     int
	// Reason is how the process ended, or what timed out.
	Reason string
}

// Error names the language, the size and the reason.
func (e *ChildLost) Error() string {
	return fmt.Sprintf("parser of %s did not finish %d bytes: %s", e.Language, e.Size, e.Reason)
}

// ChildDied is the error of a content that crashed its child or exceeded the steps of its
// parse. The content is the cause: the caller counts a failure, and cuts the content with
// Quarantine at the next try.
type ChildDied struct {
	Language string
	Size     int
	// Reason is what happened: how the process ended, or why the parser gave up.
	Reason string
	// Stderr is the end of what the child wrote to its standard error.
	Stderr string
}

// Error names the language, the size and the reason.
func (e *ChildDied) Error() string {
	text := fmt.Sprintf("parser of %s failed on %d bytes: %s", e.Language, e.Size, e.Reason)
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

// Pool cuts contents in warm child processes of its own, so that a content that crashes
// or hangs a parser costs only itself. It may be used from several goroutines. A child is
// started when one is needed and none is idle, and ends with the pool.
type Pool struct {
	opts Options
	// slots holds a token for each child that may run; an idle child waits in its token.
	slots chan *child
	// slow has room for as many cuts at full effort as may be under way: while there is more
	// than one child, one is left to tries.
	slow chan struct{}
	done chan struct{}
	// languages are those that a child reads; the rest is cut in this process.
	languages map[string]bool

	warnLacks sync.Once

	mu     sync.Mutex // guards closed
	closed bool
}

// NewPool makes a pool. It starts no child.
func NewPool(opts Options) (*Pool, error) {
	if len(opts.Command) == 0 {
		return nil, errors.New("chunk pool: no command to start a child")
	}
	if opts.Children <= 0 {
		opts.Children = runtime.GOMAXPROCS(0)
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 5 * time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{
		opts: opts, slots: make(chan *child, opts.Children), slow: make(chan struct{}, max(1, opts.Children-1)),
		done: make(chan struct{}), languages: map[string]bool{},
	}
	for range opts.Children {
		p.slots <- nil
	}
	for _, l := range languages() {
		p.languages[l.name] = true
	}
	return p, nil
}

// Cut cuts a content of a language, as the function Cut does, in a child. It waits for an
// idle one. It returns a *ChildDied when it is the content's doing, a *ChildLost when it may
// be, ErrPoolClosed after Close, the error of ctx when that ends first, and any other error when no child can be
// started, which says nothing about the content.
func (p *Pool) Cut(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	if len(content) > MaxBytes || !p.languages[language] {
		return Fallback(content), nil
	}
	select {
	case p.slow <- struct{}{}:
	case <-p.done:
		return store.Syntax{}, ErrPoolClosed
	case <-ctx.Done():
		return store.Syntax{}, fmt.Errorf("wait for a chunk child: %w", ctx.Err())
	}
	defer func() { <-p.slow }()
	return p.cut(ctx, effortFull, language, content)
}

// Try cuts a content as Cut does if that takes no more steps or CPU time than an ordinary
// content, and returns ErrSlow otherwise: that says nothing about how it is to be cut. Cuts at full effort do not keep it waiting while the pool has
// more than one child.
func (p *Pool) Try(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	if len(content) > MaxBytes || !p.languages[language] {
		return Fallback(content), nil
	}
	if !stepsCounted {
		return p.Cut(ctx, language, content)
	}
	return p.cut(ctx, effortTry, language, content)
}

// ErrSlow is returned by Pool.Try for a content that takes more than an ordinary one.
var ErrSlow = errors.New("the content takes longer than an ordinary one")

// cut has a child cut a content.
func (p *Pool) cut(ctx context.Context, e effort, language string, content []byte) (store.Syntax, error) {
	var c *child
	select {
	case c = <-p.slots:
	case <-p.done:
		return store.Syntax{}, ErrPoolClosed
	case <-ctx.Done():
		return store.Syntax{}, fmt.Errorf("wait for a parser child: %w", ctx.Err())
	}
	defer func() { p.slots <- c }()
	select {
	case <-p.done:
		return store.Syntax{}, ErrPoolClosed
	default:
	}
	if c != nil && c.ended() { // it died while idle, by no content's fault
		p.opts.Log.Warn("idle parser child ended", "reason", c.stop())
		c = nil
	}
	if c == nil {
		started, err := startChild(p.opts.Command, p.opts.Env, p.opts.Timeout)
		if err != nil {
			return store.Syntax{}, err
		}
		c = started
		if len(c.lacks) > 0 {
			p.warnLacks.Do(func() { p.opts.Log.Warn("sandbox of the parsers is incomplete", "lacks", c.lacks) })
		}
	}
	s, err := p.exchange(ctx, c, e, language, content)
	if err != nil && (!errors.Is(err, ErrSlow) || c.ended()) {
		c = nil
	}
	return s, err
}

// exchange sends a request to c and reads its reply. After an error c has ended, but for
// ErrSlow, after which it may go on.
func (p *Pool) exchange(ctx context.Context, c *child, e effort, language string, content []byte) (store.Syntax, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.Timeout, errTimeout)
	defer cancel()
	unwatch := context.AfterFunc(ctx, c.kill)
	reply, err := c.ask(encodeRequest(e, language, content))
	if !unwatch() && err == nil {
		err = errKilled // the reply came, but the child may be dead
	}
	died := &ChildDied{Language: language, Size: len(content)}
	if err == nil {
		if len(reply) > 0 && reply[0] == replySlow {
			return store.Syntax{}, ErrSlow
		}
		s, gaveUp, err := decodeReply(reply)
		if err == nil && gaveUp == "" {
			return s, nil
		}
		if err == nil && reply[0] == replyLate {
			c.stop()
			return store.Syntax{}, &ChildLost{Language: language, Size: len(content), Reason: gaveUp}
		}
		died.Reason = gaveUp
		if err != nil {
			died.Reason = err.Error()
		}
		c.stop()
		return store.Syntax{}, died
	}
	died.Reason, died.Stderr = c.stop(), c.stderr.String()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return store.Syntax{}, p.lost(language, content, fmt.Sprintf("no answer within %s", p.opts.Timeout))
	case cause != nil:
		return store.Syntax{}, fmt.Errorf("cut %s of %d bytes: %w", language, len(content), cause)
	case !c.contentAtFault() && e == effortTry:
		return store.Syntax{}, ErrSlow
	case !c.contentAtFault():
		return store.Syntax{}, p.lost(language, content, strings.TrimSpace(died.Reason+" "+died.Stderr))
	}
	p.opts.Log.Warn("parser child died", "language", language, "size", len(content), "reason", died.Reason)
	return store.Syntax{}, died
}

func (p *Pool) lost(language string, content []byte, reason string) *ChildLost {
	p.opts.Log.Warn("parser child did not finish", "language", language, "size", len(content), "reason", reason)
	return &ChildLost{Language: language, Size: len(content), Reason: reason}
}

var (
	errTimeout = errors.New("the child took too long")
	errKilled  = errors.New("the child was killed")
)

func decodeReply(reply []byte) (s store.Syntax, gaveUp string, err error) {
	if len(reply) == 0 {
		return s, "", errors.New("empty reply")
	}
	switch reply[0] {
	case replySyntax:
		s, err = store.DecodeSyntax(reply[1:])
		return s, "", err
	case replyGaveUp, replyLate:
		return s, "gave up: " + string(reply[1:]), nil
	}
	return s, "", fmt.Errorf("unknown reply %d", reply[0])
}

// Close ends the children and waits for them. Cuts under way end first; later ones return
// ErrPoolClosed. It may be called twice.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	close(p.done)
	for range p.opts.Children {
		if c := <-p.slots; c != nil {
			c.stop()
		}
	}
	return nil
}

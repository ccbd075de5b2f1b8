package outagecache_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/outagecache"
	"github.com/freshet/freshet/sync/merkle"
)

// The states of a line.
const (
	open int32 = iota
	refused
	silent
)

// line is a store behind a connection that can fail.
type line struct {
	store.Store
	state atomic.Int32
	asked atomic.Int32
}

func (l *line) pass(ctx context.Context) error {
	l.asked.Add(1)
	switch l.state.Load() {
	case refused:
		return fmt.Errorf("dial: %w", store.ErrUnavailable)
	case silent:
		<-ctx.Done()
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
	return nil
}

func (l *line) Codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	if err := l.pass(ctx); err != nil {
		return store.Codebase{}, err
	}
	return l.Store.Codebase(ctx, id)
}

func (l *line) Codebases(ctx context.Context) ([]store.Codebase, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.Store.Codebases(ctx)
}

func (l *line) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.Store.Content(ctx, h)
}

func (l *line) LogPosition(ctx context.Context) (store.LogPosition, error) {
	if err := l.pass(ctx); err != nil {
		return store.LogPosition{}, err
	}
	return l.Store.LogPosition(ctx)
}

func (l *line) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.Store.Syntax(ctx, keys)
}

func (l *line) Session(ctx context.Context, id string) (store.Session, error) {
	if err := l.pass(ctx); err != nil {
		return store.Session{}, err
	}
	return l.Store.Session(ctx, id)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newReader(t *testing.T, o outagecache.Options) (*line, *outagecache.Reader) {
	t.Helper()
	l := &line{Store: memstore.New(memstore.Options{})}
	r := outagecache.New(l, o)
	t.Cleanup(func() {
		must(t, r.Close())
		must(t, r.Close())
		must(t, l.Close())
	})
	_, err := l.Register(t.Context(), store.Codebase{ID: "a", Name: "a", Root: "/a"})
	must(t, err)
	return l, r
}

// virtual runs a subtest in virtual time: what is bounded by milliseconds does not depend
// on how busy the machine is.
func virtual(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

// TestAnswersWhileAway: what was read is answered in either kind of absence, what was not is
// an error, and nobody waits twice.
func TestAnswersWhileAway(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]int32{"refused": refused, "silent": silent} {
		virtual(t, name, func(t *testing.T) {
			l, r := newReader(t, outagecache.Options{Patience: 20 * time.Millisecond, ProbeEvery: time.Hour})
			known, other := content([]byte("known")), content([]byte("other"))
			must(t, l.PutContents(t.Context(), []store.Content{known, other}))
			key := store.SyntaxKey{Content: known.Hash, Version: "1"}
			must(t, l.PutSyntax(t.Context(), []store.SyntaxRecord{{Key: key}}))
			read := func() error {
				c, err := r.Codebase(t.Context(), "a")
				all, err2 := r.Codebases(t.Context())
				data, err3 := r.Content(t.Context(), known.Hash)
				syntaxes, err4 := r.Syntax(t.Context(), []store.SyntaxKey{key})
				if err := errors.Join(err, err2, err3, err4); err != nil {
					return err
				}
				if c.Name != "a" || len(all) != 1 || !bytes.Equal(data, []byte("known")) || len(syntaxes) != 1 {
					return fmt.Errorf("got %+v, %+v, %q, %v", c, all, data, syntaxes)
				}
				return nil
			}
			must(t, read())
			if _, away := r.Away(); away {
				t.Fatal("a store that answers is called away")
			}
			l.state.Store(state)
			must(t, read())
			if since, away := r.Away(); !away || since.IsZero() {
				t.Fatal("nobody knows that the store is away")
			}
			asked := l.asked.Load()
			must(t, read())
			if n := l.asked.Load() - asked; n != 0 {
				t.Errorf("a store that is away was asked %d times", n)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if data, err := r.Content(ctx, other.Hash); err == nil {
				t.Errorf("what was never read is %q", data)
			}
			if _, err := r.Session(t.Context(), "s"); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a session is %v", err)
			}
			found, err := r.Syntax(t.Context(), []store.SyntaxKey{key, {Content: other.Hash, Version: "1"}})
			if len(found) != 1 || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("of two syntaxes there are %d, %v", len(found), err)
			}
		})
	}
}

// TestReturns: a store that is back is noticed without a reader that waits for it, and what
// changed meanwhile is seen.
func TestReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, returns)
}

func returns(t *testing.T) {
	l, r := newReader(t, outagecache.Options{ProbeEvery: time.Millisecond})
	_, err := r.Codebases(t.Context())
	must(t, err)
	l.state.Store(refused)
	_, err = r.Codebases(t.Context())
	must(t, err)
	_, err = l.Register(t.Context(), store.Codebase{ID: "b", Name: "b", Root: "/b"})
	must(t, err)
	l.state.Store(open)
	deadline := time.Now().Add(10 * time.Second)
	for {
		all, err := r.Codebases(t.Context())
		must(t, err)
		if len(all) == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the return of the store was not noticed")
		}
		time.Sleep(time.Millisecond)
	}
	if _, away := r.Away(); away {
		t.Error("it is still called away")
	}
}

// TestGoneIsForgotten: what the store says it does not have, or was told to forget, is not
// answered later.
func TestGoneIsForgotten(t *testing.T) {
	t.Parallel()
	l, r := newReader(t, outagecache.Options{ProbeEvery: time.Hour})
	_, err := r.Codebase(t.Context(), "a")
	must(t, err)
	must(t, l.Clear(t.Context(), "a"))
	if _, err := r.Codebase(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("a codebase that was cleared: %v", err)
	}
	_, err = r.Codebases(t.Context())
	must(t, err)
	r.Forget()
	l.state.Store(refused)
	if _, err := r.Codebase(t.Context(), "a"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a codebase that was cleared, without the store: %v", err)
	}
	if all, err := r.Codebases(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a list that was forgotten: %v, %v", all, err)
	}
}

// TestOnesOwnDeadline: a reader that gives up is not a store that is away.
func TestOnesOwnDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, onesOwnDeadline)
}

func onesOwnDeadline(t *testing.T) {
	l, r := newReader(t, outagecache.Options{Patience: time.Hour})
	_, err := r.Codebases(t.Context())
	must(t, err)
	l.state.Store(silent)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Codebases(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the reader's own deadline: %v", err)
	}
	if _, away := r.Away(); away {
		t.Error("the store is called away")
	}
}

// TestContentsAreBounded: the contents that were read last stay within the bound.
func TestContentsAreBounded(t *testing.T) {
	t.Parallel()
	l, r := newReader(t, outagecache.Options{ContentBytes: 1000, ProbeEvery: time.Hour})
	var all []store.Content
	for i := range 20 {
		all = append(all, content(bytes.Repeat([]byte{byte(i)}, 99)))
	}
	all = append(all, content(make([]byte, 1001)))
	must(t, l.PutContents(t.Context(), all))
	for _, c := range all {
		_, err := r.Content(t.Context(), c.Hash)
		must(t, err)
	}
	l.state.Store(refused)
	var held []int
	for i, c := range all {
		if _, err := r.Content(t.Context(), c.Hash); err == nil {
			held = append(held, i)
		}
	}
	if fmt.Sprint(held) != "[10 11 12 13 14 15 16 17 18 19]" {
		t.Errorf("held are %v", held)
	}
}

func content(data []byte) store.Content { return store.Content{Hash: sha256.Sum256(data), Data: data} }

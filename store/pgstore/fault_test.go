package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest"
	"github.com/freshet/freshet/sync/merkle"
)

// TestCommitWhoseAnswerIsLost loses the answers of commits, and the commits themselves,
// under writes that count: each counts once.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]int32{"the answer": loseAnswers, "the commit": loseCommits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := openThrough(t)
			p.mode.Store(mode)
			for try := 1; try <= 4; try++ {
				p.lose.Store(1)
				f, err := s.RecordFailure(t.Context(), store.Failure{Codebase: "a", Path: "p", Stage: store.StageChunk}, false, nil)
				if err != nil || f.Tries != try {
					t.Fatalf("try %d is recorded as %d: %v", try, f.Tries, err)
				}
			}
			p.lose.Store(1)
			id, err := s.PutSegment(t.Context(), "a", 1, 1, []byte("segment"))
			if err != nil {
				t.Fatal(err)
			}
			if u, err := s.Usage(t.Context()); err != nil || u.Segments != 1 {
				t.Errorf("%d segments after one was put as %d: %v", u.Segments, id, err)
			}
			p.lose.Store(1)
			if _, err := s.RecordFailure(t.Context(), store.Failure{Codebase: "a", Path: "p", Stage: store.StageEmbed}, true, nil); err != nil {
				t.Fatal(err)
			}
			p.lose.Store(1)
			if parked, err := s.ForgetFailures(t.Context(), "a", ""); err != nil || len(parked) != 1 {
				t.Errorf("forgot %v: %v", parked, err)
			}
			if lost := p.lost.Load(); lost != 7 {
				t.Errorf("%d commits were lost, want 7", lost)
			}
		})
	}
}

// openThrough opens a store behind a proxy, with a codebase a.
func openThrough(t *testing.T) (*proxy, *Store) {
	t.Helper()
	p, through := newProxy(t, database(t))
	s, err := Open(t.Context(), through, Options{Tenant: rand.Text(), Role: "freshet_test_app", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Register(t.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
		t.Fatal(err)
	}
	return p, s
}

// TestCommitOfUnknownOutcome keeps what became of a commit secret as well: the write fails,
// and is not made again.
func TestCommitOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	p, s := openThrough(t)
	s.resolving = 300 * time.Millisecond
	p.mode.Store(loseAnswers)
	p.secret.Store(true)
	f := store.Failure{Codebase: "a", Path: "p", Stage: store.StageChunk}
	p.lose.Store(1)
	if got, err := s.RecordFailure(t.Context(), f, false, nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a failure of unknown outcome is recorded as %+v: %v", got, err)
	}
	p.lose.Store(1)
	if id, err := s.PutSegment(t.Context(), "a", 1, 1, []byte("segment")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a segment of unknown outcome is put as %d: %v", id, err)
	}
	if u, err := s.Usage(t.Context()); err != nil || u.Segments != 1 {
		t.Errorf("%d segments after one was put: %v", u.Segments, err)
	}
	if got, err := s.RecordFailure(t.Context(), f, false, nil); err != nil || got.Tries != 2 {
		t.Errorf("try 2 is recorded as %d: %v", got.Tries, err)
	}
}

// again repeats a call while the server ends its connections faster than it is tried.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

// TestBackendsAreTerminated ends the store's connections again and again while it writes
// and reads: a call that succeeds counts once, and one that does not counts not at all.
func TestBackendsAreTerminated(t *testing.T) {
	t.Parallel()
	s := openTenant(t, Options{})
	if _, err := s.Register(t.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 3, 60
	done, stop := context.WithCancel(t.Context())
	var killers, g errgroup.Group
	killers.Go(func() error {
		conn := rawConn(t, database(t), "")
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done.Done():
				return nil
			case <-ticker.C:
			}
			// Only those that name this tenant's lock, which is one of this test.
			_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks
				WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = hashtextextended('freshet tenant public ' || $1::text, 0)`, s.tenant)
			if err != nil {
				return err
			}
		}
	})
	for w := range writers {
		g.Go(func() error {
			f := store.Failure{Codebase: "a", Path: fmt.Sprint(w), Stage: store.StageChunk}
			for i := range rounds {
				err := again(func() error {
					got, err := s.RecordFailure(t.Context(), f, false, nil)
					if err == nil {
						f = got
					}
					return err
				})
				if err != nil || f.Tries != i+1 {
					return fmt.Errorf("try %d is recorded as %d: %w", i+1, f.Tries, err)
				}
				c := contentOf(fmt.Sprint(w, i))
				if err := again(func() error { return s.PutContents(t.Context(), []store.Content{c}) }); err != nil {
					return err
				}
				if has, err := s.HasContents(t.Context(), []merkle.Hash{c.Hash}); err != nil || !has[c.Hash] {
					return fmt.Errorf("content %d is missing: %w", i, err)
				}
			}
			return nil
		})
	}
	err := g.Wait()
	stop()
	if err := errors.Join(err, killers.Wait()); err != nil {
		t.Fatal(err)
	}
}

// TestServerAway stops the way to the server under an open store.
func TestServerAway(t *testing.T) {
	t.Parallel()
	p, through := newProxy(t, database(t))
	s, err := Open(t.Context(), through, Options{Tenant: rand.Text(), MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	p.stop()
	if _, err := s.Codebases(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read: %v", err)
	}
	if err := s.SetFailure(t.Context(), "a", ""); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
	if _, err := Open(t.Context(), through, Options{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("opening: %v", err)
	} else if strings.Contains(err.Error(), "password") {
		t.Errorf("the error shows the URL: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Codebases(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read with a deadline: %v", err)
	}
}

// TestFault gives states of the server their meaning.
func TestFault(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]error{
		stateDiskFull: store.ErrDiskFull, "53300": store.ErrUnavailable, "57P01": store.ErrUnavailable, "57P03": store.ErrUnavailable,
		"08006": store.ErrUnavailable, "XX001": store.ErrCorrupt, "XX002": store.ErrCorrupt, stateNoTable: store.ErrCorrupt,
		stateTimeout: store.ErrUnavailable, stateNoLock: store.ErrUnavailable, stateSerialization: store.ErrUnavailable,
	} {
		err := (&Store{}).fault(t.Context(), fmt.Errorf("x: %w", &pgconn.PgError{Code: state}))
		if !errors.Is(err, want) {
			t.Errorf("state %s: %v, want %v", state, err, want)
		}
	}
}

// TestDamageIsFound changes bytes past the store: what is damaged is not served, and Check
// finds it.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	const flip = "set_byte(body, length(body) / 2, get_byte(body, length(body) / 2) # 1)"
	read := map[string]func(s *Store) error{
		"contents": func(s *Store) error {
			_, err := s.Content(context.Background(), contentOf("text of "+s.tenant).Hash)
			return err
		},
		"syntaxes": func(s *Store) error {
			key := store.SyntaxKey{Content: contentOf("text of " + s.tenant).Hash, Version: store.Recipe{Chunker: "c"}.SyntaxVersion("")}
			_, err := s.Syntax(context.Background(), []store.SyntaxKey{key})
			return err
		},
		"vectors": func(s *Store) error {
			_, err := s.Vectors(context.Background(), store.EmbeddingRecipe{}.Key(), []merkle.Hash{contentOf("text of " + s.tenant).Hash})
			return err
		},
		"segment_parts": func(s *Store) error { return nil }, // read from the cache
	}
	for table, read := range read {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			s := openTenant(t, Options{})
			fill(t, s, "a")
			if err := errors.Join(s.Check(t.Context()), read(s)); err != nil {
				t.Fatal(err)
			}
			_, err := rawConn(t, database(t), "").Exec(t.Context(), "UPDATE "+table+" SET body = "+flip+" WHERE tenant = $1", s.tenant)
			if err != nil {
				t.Fatal(err)
			}
			if err := read(s); table != "segment_parts" && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("damaged: %v", err)
			}
			if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("check: %v", err)
			}
		})
	}
}

// TestOrderOfCommits puts events from several sides at once: the outbox numbers them as
// they become visible, so that who has read up to one misses none before it.
func TestOrderOfCommits(t *testing.T) {
	t.Parallel()
	one := openTenant(t, Options{})
	two := openTenant(t, Options{Tenant: one.tenant})
	const writers, rounds = 4, 40
	var g errgroup.Group
	for w := range writers {
		s := []*Store{one, two}[w%2]
		g.Go(func() error {
			for i := range rounds {
				if err := s.PutOutbox(t.Context(), []store.OutboxEvent{{Codebase: "a", Snapshot: uint64(w), Part: uint32(i)}}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var seen []store.OutboxEvent
	for len(seen) < writers*rounds {
		events, err := two.Outbox(t.Context(), writers*rounds)
		if err != nil {
			t.Fatal(err)
		}
		for i := range seen {
			if seen[i].Snapshot != events[i].Snapshot || seen[i].Part != events[i].Part {
				t.Fatalf("event %d was overtaken", i)
			}
		}
		seen = events
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestCollectBesideWriters collects while others put contents that nothing names yet, and
// open snapshots that name them: no file ever lacks its content.
func TestCollectBesideWriters(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Now().Add(-2 * store.CollectGrace) } // everything put is old
	writer := openTenant(t, Options{Now: now})
	collector := openTenant(t, Options{Tenant: writer.tenant})
	if _, err := writer.Register(t.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
		t.Fatal(err)
	}
	done, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		for done.Err() == nil {
			if _, err := collector.Collect(t.Context(), store.Retention{Keep: 2}); err != nil {
				return err
			}
		}
		return nil
	})
	refused := 0
	for number := uint64(1); number <= 40; number++ {
		c := contentOf(fmt.Sprint(number))
		o := store.Opening{
			Codebase: "a", Number: number, Parent: number - 1, Recipe: store.Recipe{Schema: 1}, Root: c.Hash,
			Upserts: []store.FileEntry{{Path: "f", Content: c.Hash}},
		}
		if number%2 == 0 {
			o.Contents = []store.Content{c}
		} else if err := writer.PutContents(t.Context(), []store.Content{c}); err != nil {
			t.Fatal(err)
		}
		_, err := writer.Open(t.Context(), o)
		if errors.Is(err, store.ErrIncomplete) { // collected between the two, and noticed
			refused++
			o.Contents = []store.Content{c}
			_, err = writer.Open(t.Context(), o)
		}
		if err == nil {
			err = storetest.Finish(t.Context(), writer, "a", number)
		}
		if err == nil {
			err = writer.Seal(t.Context(), store.Seal{Codebase: "a", Number: number, Level: store.LevelFull, At: now()})
		}
		if err == nil {
			_, err = writer.Content(t.Context(), c.Hash)
		}
		if err != nil {
			t.Fatalf("snapshot %d: %v", number, err)
		}
	}
	stop()
	if err := errors.Join(g.Wait(), writer.Check(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Logf("refused %d times", refused)
}

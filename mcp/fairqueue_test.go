package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/freshet/freshet/mcp/tool"
)

// queued is a limit and the calls that began, in their order.
type queued struct {
	*fairQueue
	ctx      context.Context
	began    []string
	refused  []string
	releases []func()
}

// call lets a call wait; it is in began once it has a place. Whoever calls is in a bubble of
// synctest, where one goroutine at a time is past the queue.
func (q *queued) call(ctx context.Context, name, peer string, connection *callConnection) {
	go func() {
		release, busy := q.acquire(ctx, peer, connection)
		if busy != nil {
			q.refused = append(q.refused, name+" "+string(busy.Code))
			return
		}
		q.began, q.releases = append(q.began, name), append(q.releases, release)
	}()
	synctest.Wait()
}

// end ends the longest running call.
func (q *queued) end() {
	release := q.releases[0]
	q.releases = q.releases[1:]
	release()
	synctest.Wait()
}

// TestAFloodDelaysAnotherClientByOneCall: beside a client with many connections, each of which
// calls again as soon as it is answered, a second client of the same address or of another
// gets the first place that becomes free.
func TestAFloodDelaysAnotherClientByOneCall(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"flooder", "other"} {
		synctest.Test(t, func(t *testing.T) {
			all := 2
			q := &queued{fairQueue: newFairQueue(2, all), ctx: t.Context()}
			var honest callConnection
			q.call(q.ctx, "honest 0", address, &honest)
			q.end()
			flood := make([]callConnection, 8)
			for i := range flood {
				q.call(q.ctx, "flood", "flooder", &flood[i])
			}
			for round := 1; round <= 3; round++ {
				name := fmt.Sprintf("honest %d", round)
				q.call(q.ctx, name, address, &honest)
				q.end()
				if last := q.began[len(q.began)-1]; last != name {
					t.Fatalf("%s: a place went to %q before %q: %q", address, last, name, q.began)
				}
				// The flood is served once around, and each of it calls again.
				for i := range flood {
					q.call(q.ctx, "flood", "flooder", &flood[i])
					q.end()
				}
			}
			for len(q.releases) > 0 {
				q.end()
			}
			if len(q.refused) > 0 || q.inFlight() != 0 || len(q.peers) != 0 {
				t.Errorf("refused %q, %d under way, %d peers left", q.refused, q.inFlight(), len(q.peers))
			}
		})
	}
}

// TestPlacesGoAroundTheConnections: the calls that wait are served one of each peer in turn,
// and one of each of its connections in turn; a new connection counts as served at its coming.
func TestPlacesGoAroundTheConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queued{fairQueue: newFairQueue(1, 1), ctx: t.Context()}
		var a, b, c callConnection
		for i := range 3 {
			q.call(q.ctx, fmt.Sprintf("a%d", i), "one", &a)
		}
		for i := range 2 {
			q.call(q.ctx, fmt.Sprintf("b%d", i), "one", &b)
		}
		for i := range 3 {
			q.call(q.ctx, fmt.Sprintf("c%d", i), "two", &c)
		}
		for len(q.releases) > 0 {
			q.end()
		}
		if got, want := strings.Join(q.began, " "), "a0 c0 a1 c1 b0 c2 a2 b1"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

// TestTooManyWaitingCallsAreRefused: beyond the bound the call of the connection that was
// served last is told that the server is busy, so that a flood refuses its own. A call that
// nobody waits for any more leaves the queue.
func TestTooManyWaitingCallsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queued{fairQueue: newFairQueue(1, 4), ctx: t.Context()}
		var honest, flood callConnection
		q.call(q.ctx, "honest", "peer", &honest)
		q.end()
		for i := range 1 + q.maxWaiting {
			q.call(q.ctx, fmt.Sprintf("flood%d", i), "peer", &flood)
		}
		if len(q.refused) > 0 {
			t.Fatalf("refused below the bound: %q", q.refused)
		}
		ctx, giveUp := context.WithCancel(q.ctx)
		q.call(ctx, "honest", "peer", &honest)
		if want := []string{fmt.Sprintf("flood%d %s", q.maxWaiting, tool.CodeBusy)}; !slices.Equal(q.refused, want) {
			t.Errorf("refused %q, want %q", q.refused, want)
		}
		giveUp()
		synctest.Wait()
		if last := q.refused[len(q.refused)-1]; last != "honest "+string(tool.CodeInterrupted) {
			t.Errorf("a call that was given up: %q", last)
		}
		for len(q.releases) > 0 {
			q.end()
		}
		if q.inFlight() != 0 || len(q.peers) != 0 || len(q.waiting) != 0 {
			t.Errorf("%d under way, %d peers, %d waiting at the end", q.inFlight(), len(q.peers), len(q.waiting))
		}
	})
}

package natsbus_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// publisherDir names, in the environment of a child of this test, the log to publish to.
const publisherDir = "FRESHET_TEST_PUBLISHER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(publisherDir); dir != "" {
		fmt.Fprintln(os.Stderr, publishUntilKilled(dir))
		os.Exit(1)
	}
	// The server leaves these behind when it is stopped in a cluster.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"))
}

// publishUntilKilled publishes batches of 1 to 8 messages and says on standard output when
// each was acknowledged.
func publishUntilKilled(dir string) error {
	ctx := context.Background()
	b, err := natsbus.Open(ctx, natsbus.Options{Dir: dir})
	if err != nil {
		return err
	}
	for {
		last, err := b.LastOf(ctx, "a", bus.LaneSync)
		if err != nil {
			return err
		}
		batch := make([]bus.Message, 1+last%8)
		for i := range batch {
			batch[i] = bus.Message{
				Codebase: "a", Lane: bus.LaneSync, ID: fmt.Sprintf("%d/%d", last, i),
				Data: fmt.Appendf(nil, "%d %d %d", last, i, len(batch)),
			}
		}
		sequence, err := b.Publish(ctx, batch, &last)
		if err != nil {
			return err
		}
		if _, err := fmt.Println(sequence); err != nil {
			return err
		}
	}
}

// TestKilledPublisherLosesNothing kills a publishing process at any moment: what it was
// told is in the log is there, every batch is whole, and the log knows of no gap.
func TestKilledPublisherLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(5, 6))
	var acknowledged uint64
	for round := range 5 {
		acknowledged = max(acknowledged, publishAndKill(t, dir, 10+random.IntN(40)))
		b := open(t, natsbus.Options{Dir: dir})
		state, err := b.State(t.Context())
		must(t, err)
		if state.Last < acknowledged || state.Gap || b.Report().Recreated {
			t.Errorf("round %d: acknowledged up to %d, state %+v, report %+v", round, acknowledged, state, b.Report())
		}
		wantWholeBatches(t, b, state.Last)
		must(t, b.Close())
	}
	if acknowledged == 0 {
		t.Error("nothing was ever acknowledged")
	}
}

// publishAndKill kills the child after it has said n times that something is in the log,
// and returns the last sequence it was told.
func publishAndKill(t *testing.T, dir string, n int) uint64 {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), publisherDir+"="+dir)
	var complaint strings.Builder
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var last uint64
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if last, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
			break // cut off in the middle of a line
		}
		if n--; n == 0 {
			must(t, child.Process.Kill())
		}
	}
	if err := child.Wait(); err == nil || complaint.Len() > 0 {
		t.Errorf("the child ended with %v: %s", err, complaint.String())
	}
	return last
}

func wantWholeBatches(t *testing.T, b bus.Bus, last uint64) {
	t.Helper()
	next, guard, position, size := uint64(1), uint64(0), 0, 0
	must(t, b.Read(t.Context(), 1, 0, func(m bus.Stored) error {
		if position == size {
			guard, position, size = m.Sequence-1, 0, int(1+(m.Sequence-1)%8)
		}
		if want := fmt.Sprintf("%d %d %d", guard, position, size); string(m.Data) != want || m.Sequence != next {
			t.Fatalf("message %d is %q, want message %d to be %q", m.Sequence, m.Data, next, want)
		}
		position++
		next++
		return nil
	}))
	if position != size || next != last+1 {
		t.Errorf("the log ends at %d of %d, with %d of %d messages of a batch", next-1, last, position, size)
	}
}

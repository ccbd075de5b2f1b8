package host

import (
	"slices"
	"testing"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
)

// A message that no worker can read becomes a dead letter, which can be listed, retried
// and dropped; a number that no letter has is an error that names those there are.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := connect(t, t.TempDir())
	garbage := bus.Message{Codebase: "cgarbage", Lane: bus.LaneSync, ID: "garbage", Data: []byte("no event")}
	if _, err := s.host.bus.Publish(t.Context(), []bus.Message{garbage}, nil); err != nil {
		t.Fatal(err)
	}
	first := waitLetter(t, s, 0) // although two consumers read the lane
	if first.Codebase != "cgarbage" || first.Reason == "" {
		t.Errorf("letter %+v", first)
	}
	for _, action := range []string{"retry", "drop"} {
		e, err := s.Call(t.Context(), "dead-letters", map[string]any{"action": action, "letters": []uint64{first.Letter, 77}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		there := []string{"1"}
		if e.Error == nil || e.Error.Code != tool.CodeTargetNotFound || !slices.Equal(e.Error.Details["letters"].([]string), there) {
			t.Errorf("%s of an unknown letter: %v", action, e.Error)
		}
	}
	must(t, s, "dead-letters", map[string]any{"action": "retry", "letters": []uint64{first.Letter}})
	if again := waitLetter(t, s, first.Letter); again.Sequence <= first.Sequence { // as illegible as before
		t.Errorf("after another try: %+v", again)
	}
	must(t, s, "dead-letters", map[string]any{"action": "drop"})
	if left := must(t, s, "dead-letters", nil).DeadLetters; len(*left) != 0 {
		t.Errorf("letters are left: %+v", *left)
	}
}

// waitLetter waits until there is one dead letter, after another, and returns it.
func waitLetter(t *testing.T, s *Session, after uint64) tool.DeadLetter {
	t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if letters := *must(t, s, "dead-letters", nil).DeadLetters; len(letters) == 1 && letters[0].Letter > after {
			return letters[0]
		}
		select {
		case <-deadline.C:
			t.Fatalf("there is no dead letter after %d", after)
		case <-tick.C:
		}
	}
}

package natsbus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
)

// TestAdvisoriesAreCounted: what a server says of deliveries that somebody's consumer gave
// up or ended is counted, and so are dead letters.
func TestAdvisoriesAreCounted(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Options{URL: clustertest.Start(t, 1).URL()})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	publishOwn(t, b, "a", 1, 2)
	consumer, err := b.current().stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: 50 * time.Millisecond, MaxDeliver: 1,
	})
	must(t, err)
	msg, err := consumer.Next()
	must(t, err)
	must(t, msg.TermWithReason("by hand"))
	_, err = consumer.Next() // and left alone
	must(t, err)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	for {
		marks, err := b.Marks(t.Context())
		must(t, err)
		if marks.Advisories["msg_terminated"] == 1 && marks.Advisories["max_deliveries"] >= 1 {
			if marks.DeadLetters != 0 {
				t.Errorf("%d dead letters", marks.DeadLetters)
			}
			return
		}
		select {
		case <-ticker.C:
			_, _ = consumer.FetchNoWait(1) // has the server look at what is overdue
		case <-deadline.C:
			t.Fatalf("advisories: %v", marks.Advisories)
		}
	}
}

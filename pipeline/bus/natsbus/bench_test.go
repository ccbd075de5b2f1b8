package natsbus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// body is about what a files.changed event of one file takes.
const body = 512

func batchOf(round, n int) []bus.Message {
	batch := make([]bus.Message, n)
	for i := range batch {
		batch[i] = bus.Message{
			Codebase: "a", Lane: bus.LaneSync, ID: fmt.Sprintf("%d/%d", round, i), Data: make([]byte, body),
		}
	}
	return batch
}

// BenchmarkPublish publishes with every write synced, and with syncing left to the server,
// which is what safety costs; each operation is one batch.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 3, 66, bus.MaxBatch} {
		for _, relaxed := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/relaxed=%v", n, relaxed), func(b *testing.B) {
				log := open(b, natsbus.Options{RelaxedSync: relaxed})
				defer func() { must(b, log.Close()) }()
				round := 0
				for b.Loop() {
					last, err := log.LastOf(b.Context(), "a", bus.LaneSync)
					must(b, err)
					_, err = log.Publish(b.Context(), batchOf(round, n), &last)
					must(b, err)
					round++
				}
				b.ReportMetric(float64(round*n)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}

// BenchmarkPublishToHandler measures from the call of Publish to the handler on an idle
// log, and from the return of Publish, which may come later.
func BenchmarkPublishToHandler(b *testing.B) {
	log := open(b, natsbus.Options{})
	defer func() { must(b, log.Close()) }()
	ctx, cancel := context.WithCancel(b.Context())
	arrived, done := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		done <- log.Consume(ctx, bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}, Workers: 2}, func(context.Context, bus.Delivery) error {
			arrived <- time.Now()
			return nil
		})
	}()
	var whole, after []time.Duration
	round := 0
	for b.Loop() {
		began := time.Now()
		_, err := log.Publish(b.Context(), batchOf(round, 1), nil)
		published := time.Now()
		must(b, err)
		at := <-arrived
		whole, after = append(whole, at.Sub(began)), append(after, max(0, at.Sub(published)))
		round++
	}
	cancel()
	must(b, <-done)
	for name, times := range map[string][]time.Duration{"from-call": whole, "from-return": after} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-us-"+name)
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us-"+name)
	}
}

// BenchmarkOpen opens a log of some messages and closes it.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			log := open(b, natsbus.Options{Dir: dir})
			for round := range n / bus.MaxBatch {
				_, err := log.Publish(b.Context(), batchOf(round, bus.MaxBatch), nil)
				must(b, err)
			}
			must(b, log.Close())
			for b.Loop() {
				must(b, open(b, natsbus.Options{Dir: dir}).Close())
			}
		})
	}
}

// BenchmarkRead reads a log from end to end.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			log := open(b, natsbus.Options{})
			defer func() { must(b, log.Close()) }()
			for round := 0; round*bus.MaxBatch < n; round++ {
				_, err := log.Publish(b.Context(), batchOf(round, min(n, bus.MaxBatch)), nil)
				must(b, err)
			}
			for b.Loop() {
				got := 0
				must(b, log.Read(b.Context(), 1, 0, func(bus.Stored) error { got++; return nil }))
				if got != n {
					b.Fatalf("%d messages, want %d", got, n)
				}
			}
		})
	}
}

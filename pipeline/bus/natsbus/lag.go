package natsbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/store"
)

// Lag is the number and age of the messages of a codebase that wait for consumers.
type Lag struct {
	Messages uint64
	// Oldest is when the first of them was published.
	Oldest time.Time
}

// maxCounted bounds the messages that Lags reads.
const maxCounted = 20_000

// Lags counts, by codebase, the messages that at least one of the consumers has not
// acknowledged. Consumers that do not exist are ignored. It counts at most the 20,000 oldest
// messages. It reads headers only, and nothing when no message waits.
func (b *Bus) Lags(ctx context.Context, consumers []string) (map[store.CodebaseID]Lag, error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	log := b.current()
	floors, from, err := b.floors(ctx, log, consumers)
	if err != nil {
		return nil, fmt.Errorf("count what waits: %w", err)
	}
	lags := map[store.CodebaseID]Lag{}
	if len(floors) == 0 {
		return lags, nil
	}
	err = b.headers(ctx, log, from+1, func(subject string, sequence uint64, at time.Time) {
		id, lane, err := b.parseSubject(subject)
		if floor, ok := floors[string(lane)]; err != nil || !ok || sequence <= floor {
			return
		}
		lag := lags[id]
		if lag.Messages++; lag.Oldest.IsZero() {
			lag.Oldest = at
		}
		lags[id] = lag
	})
	if err != nil {
		return nil, fmt.Errorf("count what waits: %w", err)
	}
	return lags, nil
}

// floors returns, by lane, the lowest acknowledged sequence of its consumers that have
// messages to handle, and the lowest over all lanes.
func (b *Bus) floors(ctx context.Context, log *incarnation, names []string) (floors map[string]uint64, lowest uint64, err error) {
	floors = map[string]uint64{}
	list := log.stream.ListConsumers(ctx)
	for c := range list.Info() {
		name, ours := strings.CutSuffix(c.Name, durableName("", log.id))
		if !ours || !slices.Contains(names, name) || c.NumPending == 0 && c.NumAckPending == 0 {
			continue
		}
		for _, subject := range append(slices.Clone(c.Config.FilterSubjects), c.Config.FilterSubject) {
			lane := subject[strings.LastIndexByte(subject, '.')+1:]
			if floor, ok := floors[lane]; lane != "" && (!ok || c.AckFloor.Stream < floor) {
				floors[lane] = c.AckFloor.Stream
			}
		}
		if len(floors) > 0 && (lowest == 0 || c.AckFloor.Stream < lowest) {
			lowest = c.AckFloor.Stream
		}
	}
	for _, floor := range floors {
		lowest = min(lowest, floor)
	}
	return floors, lowest, list.Err()
}

// headers calls fn for the messages that the log has now, from a sequence on, without bodies.
func (b *Bus) headers(ctx context.Context, log *incarnation, from uint64, fn func(subject string, sequence uint64, at time.Time)) error {
	consumer, err := log.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, AckPolicy: jetstream.AckNonePolicy,
		HeadersOnly: true, MemoryStorage: true, InactiveThreshold: scanLinger,
	})
	if err != nil {
		return err
	}
	defer b.deleteConsumer(ctx, log, consumer)
	left := min(consumer.CachedInfo().NumPending, maxCounted)
	for left > 0 {
		batch, err := consumer.FetchNoWait(int(min(left, 500)))
		if err != nil {
			return err
		}
		got := uint64(0)
		for msg := range batch.Messages() {
			got++
			meta, err := msg.Metadata()
			if err != nil {
				return err
			}
			fn(msg.Subject(), meta.Sequence.Stream, meta.Timestamp)
		}
		if err := batch.Error(); err != nil && !errors.Is(err, jetstream.ErrNoMessages) {
			return err
		}
		if got == 0 { // the remaining messages were purged
			return nil
		}
		left -= got
	}
	return nil
}

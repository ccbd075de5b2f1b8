package bus

import (
	"context"
	"errors"
	"time"

	"github.com/freshet/freshet/store"
)

// Lane is the part of a subject that names the producer of a message and its priority: the
// later part of a large change has its own (bulk) lanes with their own consumers, so that an
// edit never queues behind a first index.
type Lane string

// The lanes. A codebase's subject on a lane is "freshet.<tenant>.<codebase>.<lane>".
const (
	LaneSync  Lane = "sync"  // snapshot.opened, files.changed, files.removed, registrations
	LaneChunk Lane = "chunk" // files.chunked
	LaneEmbed Lane = "embed" // files.embedded
	LaneApply Lane = "apply" // snapshot.sealed, file.parked, file.unparked

	LaneBulk      Lane = "bulk"      // files.changed of large changes
	LaneBulkChunk Lane = "bulkchunk" // files.chunked of large changes
)

// Message is an event to publish. Publishing is idempotent by ID within the dedupe window.
type Message struct {
	Codebase store.CodebaseID
	Lane     Lane
	ID       string
	Data     []byte
}

// Stored is a message in the log.
type Stored struct {
	Message
	Sequence uint64
	At       time.Time
}

// Delivery is a message handed to a consumer, for the Tries-th time.
type Delivery struct {
	Stored
	Tries int
}

// Handler processes a delivery. nil acknowledges it: return it only after your own commit.
// Any other error redelivers it after a growing delay; see Retry, Drop and Obsolete for the
// other fates. The context ends when the delivery is no longer this handler's.
type Handler func(ctx context.Context, d Delivery) error

// ErrNoAnswer is returned by a request to other processes when no process serves the
// codebase, or none answered before the deadline.
var ErrNoAnswer = errors.New("no answer")

// Retry is an error that redelivers after a delay, for outages of what a handler needs.
type Retry struct {
	After time.Duration
	Err   error
}

// Error returns the cause.
func (r *Retry) Error() string { return "retry: " + r.Err.Error() }

// Unwrap returns the cause.
func (r *Retry) Unwrap() error { return r.Err }

// Drop is a permanent error: the message becomes a dead letter.
type Drop struct{ Err error }

// Error returns the cause.
func (d *Drop) Error() string { return "drop: " + d.Err.Error() }

// Unwrap returns the cause.
func (d *Drop) Unwrap() error { return d.Err }

// ErrObsolete is returned by a handler when the message's work is no longer needed: the
// message is acknowledged and counted.
var ErrObsolete = errors.New("obsolete")

// Errors that callers branch on.
var (
	// ErrGuard is returned by Publish when another publisher advanced the lane.
	ErrGuard = errors.New("sequence guard: another publisher advanced the subject")
	// ErrFull is returned by Publish when the log has reached its size limit: retry later.
	ErrFull   = errors.New("log is full")
	ErrClosed = errors.New("bus is closed")
	// ErrTooLarge is returned for a message over the limit; it is never sent in part.
	ErrTooLarge = errors.New("message is too large")
)

// MaxBatch is the most messages of one atomic publish.
const MaxBatch = 1000

// Consumer names a durable consumer: every message of its lanes is handed to one of the
// handlers that share its name.
type Consumer struct {
	Name  string
	Lanes []Lane
	// Workers is the number of concurrent handlers in this process, and the most messages
	// that are prefetched. 0 means 1.
	Workers int
	// AckWait is how long after the last heartbeat the server redelivers a message; a
	// heartbeat is sent at every third of it while the handler runs. 0 means 30 s.
	AckWait time.Duration
	// Stop, when closed, ends Consume without canceling the handlers that run. nil means
	// never.
	Stop <-chan struct{}
}

// Stopped reports whether the consumer takes no more messages.
func (c Consumer) Stopped() bool {
	select {
	case <-c.Stop:
		return true
	default:
		return false
	}
}

// Taking returns a context that ends with ctx and when the consumer takes no more messages.
// The returned function releases it.
func (c Consumer) Taking(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ends with the context, and the release waits for it
		defer close(done)
		select {
		case <-c.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// State describes the log.
type State struct {
	// Incarnation identifies the life of the log: it changes whenever the log is recreated.
	Incarnation string
	First, Last uint64
	Messages    uint64
	Bytes       uint64
	// Gap is set when messages inside [First, Last] are missing that were not purged.
	Gap bool
	// Consumers holds the state of each durable consumer, by name.
	Consumers map[string]ConsumerState
}

// ConsumerState is the progress of a durable consumer.
type ConsumerState struct {
	AckFloor   uint64
	Pending    uint64
	InFlight   int
	Redelivers int
	// Obsolete counts the deliveries to this process that ended with ErrObsolete.
	Obsolete uint64
}

// DeadLetter is a message whose handler returned Drop. There is one for each message, however
// many consumers dropped it; Consumer is the first that did.
type DeadLetter struct {
	Stored
	// Letter is the number of the dead letter, by which it is retried or dropped.
	Letter   uint64
	Consumer string
	Reason   string
}

// Bus is the event log. Methods may be called from several goroutines.
type Bus interface {
	// Publish appends messages of one codebase and one lane durably and all or none, in
	// order, and returns the sequence of the last. With a guard, it fails with ErrGuard
	// unless guard is the last sequence of that codebase's lane (0: none yet). Messages
	// whose IDs the log got within the dedupe window are left out, and a batch of nothing
	// else succeeds again, whatever the guard. At most MaxBatch messages.
	Publish(ctx context.Context, messages []Message, guard *uint64) (uint64, error)
	// LastOf returns the last sequence of a codebase's lane, 0 when there is none.
	LastOf(ctx context.Context, id store.CodebaseID, lane Lane) (uint64, error)
	// Consume hands messages to the handler until ctx ends or the consumer is stopped, and
	// returns nil then, when all handlers have ended. A new consumer begins with the oldest
	// message. A consumer that was deleted is created again. It returns ErrClosed when the
	// bus is closed meanwhile.
	Consume(ctx context.Context, c Consumer, h Handler) error
	// State inspects the log.
	State(ctx context.Context) (State, error)
	// MessageCounts returns the number of messages of each codebase in the log.
	MessageCounts(ctx context.Context) (map[store.CodebaseID]uint64, error)
	// Read calls fn for every message with a sequence in [from, to], in order; to 0 means
	// the last one at the time of the call. An error of fn ends it and is returned.
	Read(ctx context.Context, from, to uint64, fn func(Stored) error) error
	// Follow calls fn for every message from a sequence on until ctx ends, and returns nil
	// then. An error of fn ends it and is returned.
	Follow(ctx context.Context, from uint64, fn func(Stored) error) error
	// Purge removes the messages of a codebase below a sequence; 0 removes all of them.
	Purge(ctx context.Context, id store.CodebaseID, below uint64) error
	// Reset recreates the log, empty, under a new incarnation and without consumers; dead
	// letters stay. Running calls of Consume and Follow go on with the new log; deliveries of
	// the old one are canceled.
	Reset(ctx context.Context) (State, error)

	// DeadLetters lists the dead letters, oldest first.
	DeadLetters(ctx context.Context) ([]DeadLetter, error)
	// RetryDeadLetter publishes a dead letter again, as a new message with the same ID, and
	// removes it; DropDeadLetter removes it. Both return store.ErrNotFound when there is none
	// of this number.
	RetryDeadLetter(ctx context.Context, letter uint64) error
	DropDeadLetter(ctx context.Context, letter uint64) error

	// Close stops consumers, waits for their handlers and releases the log. It may be
	// called twice, but not by a handler. Every other method returns ErrClosed afterwards.
	Close() error
}

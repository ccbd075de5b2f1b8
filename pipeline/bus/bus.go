package bus

import (
	"context"
	"errors"
	"time"

	"github.com/freshet/freshet/store"
)

// Lane is the part of a subject that says who made a message, and whether it may wait: what
// belongs to the later part of a large change has lanes of its own, with consumers of their
// own, so that a first index never stands before an edit.
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

// Message is an event on its way. ID makes a repeat within the dedupe window a no-op.
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

// Retry is an error that redelivers after a delay: for outages, which are nobody's fault.
type Retry struct {
	After time.Duration
	Err   error
}

// Error returns the cause.
func (r *Retry) Error() string { return "retry: " + r.Err.Error() }

// Unwrap returns the cause.
func (r *Retry) Unwrap() error { return r.Err }

// Drop is an error that never succeeds: the message becomes a dead letter.
type Drop struct{ Err error }

// Error returns the cause.
func (d *Drop) Error() string { return "drop: " + d.Err.Error() }

// Unwrap returns the cause.
func (d *Drop) Unwrap() error { return d.Err }

// ErrObsolete is returned by a handler whose work nobody needs any more: it is
// acknowledged and counted.
var ErrObsolete = errors.New("obsolete")

// Errors that callers branch on.
var (
	// ErrGuard is returned by Publish when another publisher advanced the lane.
	ErrGuard = errors.New("sequence guard: another publisher advanced the subject")
	// ErrFull is returned by Publish when the log refuses new messages: pause, try again.
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
	// Workers is how many handlers run at once here, and the most that is prefetched.
	// 0 means 1.
	Workers int
	// AckWait is how long a handler may be silent; InProgress is sent at a third of it
	// while the handler runs. 0 means 30 s.
	AckWait time.Duration
	// Stop, when closed, ends Consume as the end of its context does, but for the handlers
	// that run: they may finish. nil means never.
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

// State is what the log says of itself.
type State struct {
	// Incarnation changes whenever the log is made anew.
	Incarnation string
	First, Last uint64
	Messages    uint64
	Bytes       uint64
	// Gap is set when messages inside [First, Last] are missing that nobody purged.
	Gap bool
	// Consumers maps a durable consumer to its acknowledged floor and what waits.
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

// DeadLetter is a message that no handler could take: one for each message, whichever and
// however many of the consumers that read it gave up. Consumer is the first that did.
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
	// message. A consumer that vanished is made again. It returns ErrClosed when the bus is closed under it.
	Consume(ctx context.Context, c Consumer, h Handler) error
	// State inspects the log.
	State(ctx context.Context) (State, error)
	// Held counts the messages of each codebase.
	Held(ctx context.Context) (map[store.CodebaseID]uint64, error)
	// Read calls fn for every message with a sequence in [from, to], in order; to 0 means
	// the last one at the time of the call. An error of fn ends it and is returned.
	Read(ctx context.Context, from, to uint64, fn func(Stored) error) error
	// Follow calls fn for every message from a sequence on until ctx ends, and returns nil
	// then. An error of fn ends it and is returned.
	Follow(ctx context.Context, from uint64, fn func(Stored) error) error
	// Purge removes the messages of a codebase below a sequence; 0 removes all of them.
	Purge(ctx context.Context, id store.CodebaseID, below uint64) error
	// Reset makes the log anew, empty, under a new incarnation, consumers included; dead
	// letters stay. Running calls of Consume and Follow go on with the new log, and
	// deliveries of the old one are nobody's any more.
	Reset(ctx context.Context) (State, error)

	// DeadLetters lists what was dropped, oldest first.
	DeadLetters(ctx context.Context) ([]DeadLetter, error)
	// RetryDeadLetter publishes it again, as a new message with the same ID, and removes
	// the letter; DropDeadLetter removes it. Both return store.ErrNotFound for no letter.
	RetryDeadLetter(ctx context.Context, letter uint64) error
	DropDeadLetter(ctx context.Context, letter uint64) error

	// Close stops consumers, waits for their handlers and releases the log. It may be
	// called twice, but not by a handler. Every other method returns ErrClosed afterwards.
	Close() error
}

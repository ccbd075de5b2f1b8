package natsbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// Bus is an event log in JetStream. Open makes one.
type Bus struct {
	opts       Options
	report     OpenReport
	embedded   *embedded // nil with a remote server
	conn       *nats.Conn
	connection connectionState
	js         jetstream.JetStream
	dead       jetstream.Stream // the dead letters
	compressor compressor
	keys       *keyring

	// torn is set when Open found messages in the embedded log that cannot be read. It is
	// of the incarnation that Open found.
	unreadable string

	calls     callGroup  // every call of a method
	exclusive sync.Mutex // held by calls that change or inspect the log as a whole

	mu        sync.Mutex // guards all below, and torn
	log       *incarnation
	suspicion suspicion
	obsolete  map[string]uint64 // by consumer
	// advisories counts those of the cluster, by kind.
	advisories map[string]uint64
}

// incarnation is one life of the log's stream.
type incarnation struct {
	id     string
	stream jetstream.Stream
	calls  callGroup     // those that concern this incarnation only
	ended  chan struct{} // closed when another one takes its place
}

var _ bus.Bus = (*Bus)(nil)

// errReset is the cancellation cause of deliveries of an earlier incarnation.
var errReset = errors.New("the log was recreated")

// Open opens the log, and creates it when there is none. When the files of an embedded
// server cannot be read, their directory is renamed and the log is recreated; Report says so.
func Open(ctx context.Context, o Options) (*Bus, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	b := &Bus{opts: o, obsolete: map[string]uint64{}, advisories: map[string]uint64{}}
	if b.compressor, err = newCompressor(); err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	if err := b.open(ctx); err != nil {
		b.release()
		return nil, fmt.Errorf("open event log: %w", err)
	}
	return b, nil
}

// Report returns what Open found.
func (b *Bus) Report() OpenReport { return b.report }

func (b *Bus) open(ctx context.Context) error {
	var err error
	if b.keys, err = openKeyring(b.opts.Dir); err != nil {
		return err
	}
	if b.remote() {
		return b.openRemote(ctx)
	}
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	damage, err := b.start(ctx)
	if damage == "" || err == nil {
		return err
	}
	b.release()
	return b.startAnew(ctx, damage, err)
}

// startAnew renames the damaged directory and starts with an empty one. When that fails too,
// the files are not the cause: the directory is restored, and the first error is returned.
func (b *Bus) startAnew(ctx context.Context, damage string, cause error) error {
	to, err := moveDamaged(b.opts)
	if err != nil {
		return errors.Join(cause, err)
	}
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		return errors.Join(cause, restoreMoved(b.opts, to), err)
	}
	if b.keys, err = openKeyring(b.opts.Dir); err != nil {
		return errors.Join(cause, restoreMoved(b.opts, to), err)
	}
	if _, err := b.start(ctx); err != nil {
		b.release()
		return errors.Join(cause, restoreMoved(b.opts, to), err)
	}
	b.opts.Log.Warn("event log was damaged and recreated", "reason", damage, "kept", to)
	b.report = OpenReport{Recreated: true, Reason: damage, MovedTo: to}
	return pruneDamaged(b.opts)
}

// start runs the embedded server and attaches to it. With an error, damage is not empty when
// damaged files are the cause.
func (b *Bus) start(ctx context.Context) (damage string, err error) {
	before, err := onDisk(b.opts.Dir)
	if err != nil {
		return "", err
	}
	if b.embedded, err = startServer(b.opts, b.suspectDamage); err != nil {
		if entries, readErr := os.ReadDir(b.opts.Dir); readErr != nil || len(entries) == 0 {
			return "", errors.Join(err, readErr)
		}
		return err.Error(), err
	}
	if b.conn, err = b.embedded.connect(b.connectOptions()...); err != nil {
		return "", fmt.Errorf("connect in process: %w", err)
	}
	if b.js, err = jetstream.New(b.conn); err != nil {
		return "", err
	}
	for _, name := range before {
		_, err := b.js.Stream(ctx, name)
		if api := (*jetstream.APIError)(nil); errors.Is(err, jetstream.ErrStreamNotFound) ||
			errors.As(err, &api) && api.ErrorCode == codeOffline {
			err = fmt.Errorf("stream %s cannot be restored: %w: %s", name, err, b.embedded.log.text())
			return err.Error(), err
		}
		if err != nil {
			return "", fmt.Errorf("look up stream %s: %w", name, err)
		}
	}
	if err := b.attach(ctx); err != nil {
		return "", err
	}
	_ = b.DamageSuspected() // later calls compare with the files of now
	return "", b.inspect(ctx)
}

// inspect reads every message once and verifies its checksum; the server's own check of its
// files misses some damage, see headerChecksum. Damage shows as a gap of this incarnation.
func (b *Bus) inspect(ctx context.Context) error {
	log := b.current()
	state := log.stream.CachedInfo().State
	if state.Msgs == 0 {
		return nil
	}
	if fresh, err := log.stream.Info(ctx); err == nil {
		state = fresh.State
	}
	count := uint64(0)
	_, err := b.scan(ctx, log, jetstream.ConsumerConfig{OptStartSeq: 1}, state.LastSeq, func(bus.Stored) error {
		count++
		return nil
	})
	if err != nil && !errors.Is(err, errUnreadable) {
		return fmt.Errorf("inspect log: %w", err)
	}
	if err != nil || count != state.Msgs {
		b.opts.Log.Warn("messages of the event log cannot be read", "read", count, "of", state.Msgs, "error", err)
		b.mu.Lock()
		b.unreadable = log.id
		b.mu.Unlock()
	}
	return nil
}

// onDisk lists the streams that have files.
func onDisk(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(escape(streamsDir(dir)), "freshet-*"))
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names, nil
}

// attach looks up or creates the two streams.
func (b *Bus) attach(ctx context.Context) error {
	var err error
	if b.js, err = jetstream.New(b.conn); err != nil {
		return err
	}
	if b.dead, err = b.ensure(ctx, b.wantedDead()); err != nil {
		return err
	}
	stream, err := b.ensure(ctx, b.wantedLog())
	if err != nil {
		return err
	}
	b.switchTo(stream)
	if b.remote() {
		return nil // a purge in progress may be another process's
	}
	return b.finishPurge(ctx)
}

// switchTo makes a stream the current incarnation, unless it is already, and ends the calls
// of the one before.
func (b *Bus) switchTo(stream jetstream.Stream) *incarnation {
	next := &incarnation{
		id:     stream.CachedInfo().Config.Metadata[keyIncarnation],
		stream: stream,
		ended:  make(chan struct{}),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.log != nil {
		if b.log.id == next.id {
			return b.log
		}
		b.log.calls.end(errReset)
		close(b.log.ended)
	}
	b.log = next
	return next
}

// checkIncarnation returns errReset, and switches to the new incarnation, when another
// process has recreated the log. Call it after creating a consumer, and delete the consumer
// on errReset: it belongs to the wrong incarnation.
func (b *Bus) checkIncarnation(ctx context.Context, log *incarnation) error {
	stream, err := b.js.Stream(ctx, b.wantedLog().Name)
	if err != nil {
		return fmt.Errorf("look up log: %w", err)
	}
	if stream.CachedInfo().Config.Metadata[keyIncarnation] == log.id {
		return nil
	}
	b.switchTo(stream)
	return errReset
}

// current returns the incarnation last seen.
func (b *Bus) current() *incarnation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log
}

func (b *Bus) connectOptions() []nats.Option {
	return []nats.Option{
		nats.Name("freshet"),
		nats.CustomInboxPrefix("_INBOX." + b.opts.Tenant),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.opts.Log.Debug("connection to the event log failed", "error", err)
		}),
	}
}

// checkVersion refuses a server version that is known to lose acknowledged messages at a
// power cut even with synchronous writes.
func checkVersion(version string) error {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return fmt.Errorf("server version %q: %w", version, err)
	}
	switch {
	case major > 2, major == 2 && minor > 15, major == 2 && minor == 15 && patch >= 2,
		major == 2 && minor == 14 && patch >= 9:
		return nil
	}
	return fmt.Errorf("NATS server %s loses acknowledged messages at a power cut: 2.14.9, 2.15.2 or newer is needed", version)
}

// Close implements bus.Bus.
func (b *Bus) Close() error {
	b.calls.end(bus.ErrClosed)
	b.calls.wait()
	b.release()
	return nil
}

// release closes the connection and stops the server. It may be called twice.
func (b *Bus) release() {
	if b.conn != nil {
		// Acknowledgements may be buffered; one that is lost causes a redelivery only.
		if err := b.conn.FlushTimeout(5 * time.Second); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			b.opts.Log.Debug("event log not flushed", "error", err)
		}
		b.conn.Close()
	}
	b.mu.Lock()
	server := b.embedded
	b.embedded = nil
	b.mu.Unlock()
	if server == nil {
		return
	}
	server.stop()
	if err := writeConsumerChecksums(b.opts.Dir); err != nil {
		b.opts.Log.Debug("checksums of consumers not written", "error", err) // the next Open does not verify them
	}
}

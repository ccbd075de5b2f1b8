package natsbus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// The headers of a message. The batch headers are those of JetStream's atomic publish; the
// identity header carries a message's ID where the server's own header must differ from it.
const (
	headerBatch    = "Nats-Batch-Id"
	headerPosition = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
	headerIdentity = "Freshet-Id"
)

// The error codes of the server that are handled.
const (
	codeGuard     = 10071
	codeDuplicate = 10201
	codeStore     = 10077
	codeStorage   = 10047
	codeResources = 10023
	codeOffline   = 10194
	codeNoStore   = 10049
)

// publishWait bounds a publish whose context has no deadline.
const publishWait = 30 * time.Second

// errRepeat is returned for a batch with messages that are in the log already.
var errRepeat = errors.New("messages are in the log already")

// Publish implements bus.Bus.
func (b *Bus) Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error) {
	if err := bus.CheckBatch(messages); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	ctx, leave, err := b.join(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	wait := answerWait
	sequence, err := b.publishOnce(ctx, messages, guard, wait)
	for b.unanswered(ctx, err) {
		wait *= 2 // a busy cluster takes longer for a large batch
		sequence, err = b.publishOnce(ctx, messages, guard, wait)
	}
	if err == nil { // the acknowledgement may be of a refused server that the client reconnected to
		err = b.connection.refusal()
	}
	if err = b.asDiskFull(err); err != nil {
		if ctx.Err() == nil && !errors.Is(err, bus.ErrGuard) && !errors.Is(err, bus.ErrFull) && !errors.Is(err, store.ErrDiskFull) {
			b.suspectDamage()
		}
		return 0, fmt.Errorf("publish %d messages to %s/%s: %w", len(messages), messages[0].Codebase, messages[0].Lane, err)
	}
	return sequence, nil
}

// publishOnce publishes once; a remote server has the time wait to acknowledge. After an
// attempt without an answer the messages may be in the log or not; their IDs make the retry
// idempotent.
func (b *Bus) publishOnce(ctx context.Context, messages []bus.Message, guard *uint64, wait time.Duration) (uint64, error) {
	if b.remote() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	sequence, err := b.publish(ctx, messages, guard)
	if errors.Is(err, errRepeat) || errors.Is(err, bus.ErrGuard) {
		sequence, err = b.publishRest(ctx, messages, guard, err)
	}
	return sequence, err
}

// publish sends one message as it is and several as an atomic batch, which the server stages
// until the last message commits it.
func (b *Bus) publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error) {
	subject := b.subject(messages[0].Codebase, messages[0].Lane)
	batch := ""
	if len(messages) > 1 {
		batch = rand.Text()
	}
	for i, m := range messages {
		msg := &nats.Msg{Subject: subject, Header: nats.Header{}}
		msg.Header.Set(jetstream.MsgIDHeader, m.ID)
		if err := b.encodeBody(msg, m.Codebase, m.Data); err != nil {
			return 0, err
		}
		setChecksum(msg)
		if i == 0 && guard != nil {
			msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(*guard, 10))
		}
		if batch != "" {
			msg.Header.Set(headerBatch, batch)
			msg.Header.Set(headerPosition, strconv.Itoa(i+1))
		}
		if i < len(messages)-1 {
			if err := b.conn.PublishMsg(msg); err != nil {
				return 0, err
			}
			continue
		}
		if batch != "" {
			msg.Header.Set(headerCommit, "1")
		}
		return b.send(ctx, msg)
	}
	return 0, nil
}

// send publishes a message and waits for the server's acknowledgement that it is on disk.
func (b *Bus) send(ctx context.Context, msg *nats.Msg) (uint64, error) {
	ctx, leave := b.watchDiskSpace(ctx)
	defer leave()
	reply, err := b.conn.RequestMsgWithContext(ctx, msg)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, store.ErrDiskFull) {
			return 0, cause
		}
		return 0, err
	}
	var ack struct {
		Error    *jetstream.APIError `json:"error"`
		Sequence uint64              `json:"seq"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("acknowledgement %q: %w", reply.Data, err)
	}
	if ack.Error == nil {
		return ack.Sequence, nil
	}
	switch {
	case ack.Error.ErrorCode == codeGuard:
		return 0, fmt.Errorf("%w: %s", bus.ErrGuard, ack.Error.Description)
	case ack.Error.ErrorCode == codeDuplicate:
		return 0, errRepeat
	case limited(ack.Error):
		return 0, fmt.Errorf("%w: %s", bus.ErrFull, ack.Error.Description)
	case outOfSpace(ack.Error):
		return 0, fmt.Errorf("%w: %s", store.ErrDiskFull, ack.Error.Description)
	}
	return 0, ack.Error
}

// limited reports whether the log has reached its size limit.
func limited(e *jetstream.APIError) bool {
	switch e.ErrorCode {
	case codeStorage, codeResources:
		return true
	case codeStore:
		return strings.Contains(e.Description, "maximum")
	}
	return false
}

// outOfSpace reports whether the server's disk, or its quota, is used up.
func outOfSpace(e *jetstream.APIError) bool {
	return strings.Contains(e.Description, "no space left") || strings.Contains(e.Description, "quota exceeded")
}

// publishRest handles a batch that was refused with cause: it publishes the messages that
// the log did not get within the dedupe window. A batch of duplicates only succeeds; for a
// batch without duplicates it returns cause.
func (b *Bus) publishRest(ctx context.Context, messages []bus.Message, guard *uint64, cause error) (uint64, error) {
	known, err := b.recent(ctx, messages[0].Codebase, messages[0].Lane)
	if err != nil {
		return 0, fmt.Errorf("look for a repeat: %w", errors.Join(cause, err))
	}
	var rest []bus.Message
	var last uint64
	for _, m := range messages {
		if sequence, ok := known[m.ID]; ok {
			last = max(last, sequence)
			continue
		}
		rest = append(rest, m)
	}
	switch len(rest) {
	case 0:
		return last, nil
	case len(messages):
		return 0, cause
	}
	if errors.Is(cause, bus.ErrGuard) {
		return 0, cause
	}
	return b.publish(ctx, rest, guard)
}

// recent returns the sequences, by message ID, of a lane's messages within the dedupe window.
func (b *Bus) recent(ctx context.Context, id store.CodebaseID, lane bus.Lane) (map[string]uint64, error) {
	since := time.Now().Add(-2 * dedupeWindow)
	known := map[string]uint64{}
	_, err := b.scan(ctx, b.current(), jetstream.ConsumerConfig{
		FilterSubject: b.subject(id, lane),
		DeliverPolicy: jetstream.DeliverByStartTimePolicy,
		OptStartTime:  &since,
	}, math.MaxUint64, func(s bus.Stored) error {
		known[s.ID] = s.Sequence
		return nil
	})
	return known, err
}

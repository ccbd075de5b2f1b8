package natsbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// The headers of a dead letter, beside its body, which is the message's.
const (
	headerSubject  = "Freshet-Subject"
	headerSequence = "Freshet-Sequence"
	headerAt       = "Freshet-At"
	headerConsumer = "Freshet-Consumer"
	headerReason   = "Freshet-Reason"
)

// maxReason bounds the reason of a dead letter in bytes.
const maxReason = 2000

// deadLetter stores a message in the stream of dead letters, under its own subject. It is
// idempotent: the subject accepts one message, whichever consumer of the lane publishes it.
func (b *Bus) deadLetter(ctx context.Context, msg jetstream.Msg, c bus.Consumer, d bus.Delivery, cause error) error {
	if err := b.connection.refusal(); err != nil {
		return fmt.Errorf("dead-letter message %d: %w", d.Sequence, err)
	}
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	sequence := strconv.FormatUint(d.Sequence, 10)
	letter := &nats.Msg{Subject: "freshet-dead." + b.opts.Tenant + "." + b.current().id + "." + sequence, Header: nats.Header{}}
	if err := b.encodeBody(letter, d.Codebase, d.Data); err != nil {
		return err
	}
	letter.Header.Set(jetstream.MsgIDHeader, b.current().id+"/"+sequence)
	letter.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
	letter.Header.Set(headerIdentity, d.ID)
	letter.Header.Set(headerSubject, msg.Subject())
	letter.Header.Set(headerSequence, sequence)
	letter.Header.Set(headerAt, d.At.Format(time.RFC3339Nano))
	letter.Header.Set(headerConsumer, c.Name)
	letter.Header.Set(headerReason, oneLine(cause.Error()))
	if !errors.Is(cause, errChecksum) { // a damaged message keeps its wrong checksum and is never retried
		setChecksum(letter)
	}
	_, err := b.send(ctx, letter)
	if errors.Is(err, bus.ErrGuard) {
		return nil // another consumer stored it
	}
	if err != nil {
		return fmt.Errorf("dead-letter message %d: %w", d.Sequence, err)
	}
	b.opts.Log.Warn("message became a dead letter", "consumer", c.Name, "event", d.ID, "sequence", d.Sequence, "error", cause)
	return nil
}

// oneLine replaces control characters and cuts text to maxReason, for use in a header.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return strings.TrimSpace(text)
}

// DeadLetters implements bus.Bus.
func (b *Bus) DeadLetters(ctx context.Context) ([]bus.DeadLetter, error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var letters []bus.DeadLetter
	for from := uint64(1); ; {
		raw, err := b.dead.GetMsg(ctx, from, jetstream.WithGetMsgSubject("freshet-dead."+b.opts.Tenant+".>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return letters, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read dead letters: %w", err)
		}
		l, err := b.letter(raw)
		if err != nil {
			l.Reason = strings.TrimSpace(l.Reason + " (illegible: " + oneLine(err.Error()) + ")")
		}
		letters = append(letters, l)
		from = raw.Sequence + 1
	}
}

// letter decodes a dead letter. With an error it returns the fields that could be decoded:
// such a letter is listed and can be dropped, but not retried.
func (b *Bus) letter(raw *jetstream.RawStreamMsg) (bus.DeadLetter, error) {
	l := bus.DeadLetter{
		Letter:   raw.Sequence,
		Consumer: raw.Header.Get(headerConsumer),
		Reason:   raw.Header.Get(headerReason),
	}
	var errs [4]error
	l.ID = raw.Header.Get(headerIdentity)
	l.Codebase, l.Lane, errs[0] = b.parseSubject(raw.Header.Get(headerSubject))
	l.Data, errs[3] = b.decodeBody(l.Codebase, raw.Header, raw.Data)
	l.Sequence, errs[1] = strconv.ParseUint(raw.Header.Get(headerSequence), 10, 64)
	l.At, errs[2] = time.Parse(time.RFC3339Nano, raw.Header.Get(headerAt))
	return l, errors.Join(errs[:]...)
}

// RetryDeadLetter implements bus.Bus.
func (b *Bus) RetryDeadLetter(ctx context.Context, letter uint64) error {
	return b.takeDeadLetter(ctx, letter, func(raw *jetstream.RawStreamMsg) error {
		l, err := b.letter(raw)
		if err != nil {
			return fmt.Errorf("illegible: %w", err)
		}
		msg := &nats.Msg{Subject: b.subject(l.Codebase, l.Lane), Header: nats.Header{}}
		if err := b.encodeBody(msg, l.Codebase, l.Data); err != nil {
			return err
		}
		// The server would drop the message's own ID as a duplicate.
		msg.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("retry/%d/%d", letter, raw.Time.UnixNano()))
		msg.Header.Set(headerIdentity, l.ID)
		setChecksum(msg)
		_, err = b.send(ctx, msg)
		return err
	})
}

// DropDeadLetter implements bus.Bus.
func (b *Bus) DropDeadLetter(ctx context.Context, letter uint64) error {
	return b.takeDeadLetter(ctx, letter, func(*jetstream.RawStreamMsg) error { return nil })
}

func (b *Bus) takeDeadLetter(ctx context.Context, letter uint64, then func(*jetstream.RawStreamMsg) error) error {
	ctx, leave, err := b.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	raw, err := b.dead.GetMsg(ctx, letter)
	if err == nil {
		err = then(raw)
	}
	if err == nil {
		err = b.dead.SecureDeleteMsg(ctx, letter) // its reason may name paths
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("dead letter %d: %w", letter, err)
	}
	return nil
}

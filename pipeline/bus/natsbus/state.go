package natsbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// State implements bus.Bus. A log that is not there any more has no incarnation.
func (b *Bus) State(ctx context.Context) (bus.State, error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return bus.State{}, err
	}
	defer leave()
	b.reshaping.Lock()
	defer b.reshaping.Unlock()
	return b.state(ctx)
}

func (b *Bus) state(ctx context.Context) (bus.State, error) {
	stream, err := b.js.Stream(ctx, b.wantedLog().Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return bus.State{}, nil
	}
	if err != nil {
		return bus.State{}, fmt.Errorf("inspect log: %w", err)
	}
	info := stream.CachedInfo()
	incarnation := info.Config.Metadata[keyIncarnation]
	if log := b.current(); incarnation != log.id {
		b.begin(stream) // made anew by someone else
	}
	gap, err := missing(info)
	if err != nil {
		return bus.State{}, fmt.Errorf("inspect log: %w", err)
	}
	s := bus.State{
		Incarnation: incarnation, First: info.State.FirstSeq, Last: info.State.LastSeq,
		Messages: info.State.Msgs, Bytes: info.State.Bytes, Gap: gap,
		Consumers: map[string]bus.ConsumerState{},
	}
	consumers := stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		name, ok := strings.CutSuffix(c.Name, durableName("", incarnation))
		if !ok {
			continue
		}
		s.Consumers[name] = bus.ConsumerState{
			AckFloor: c.AckFloor.Stream, Pending: c.NumPending,
			InFlight: c.NumAckPending, Redelivers: c.NumRedelivered,
		}
	}
	if err := consumers.Err(); err != nil {
		return bus.State{}, fmt.Errorf("inspect consumers: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, c := range s.Consumers {
		c.Obsolete = b.obsolete[name]
		s.Consumers[name] = c
	}
	return s, nil
}

// missing tells whether messages are gone that nobody purged: see the package's comment.
// While a purge is under way it allows for as many as that one may take.
func missing(info *jetstream.StreamInfo) (bool, error) {
	purged, err := purgedCount(info.Config.Metadata)
	if err != nil {
		return false, err
	}
	intent, err := parseIntent(info.Config.Metadata[keyPurging])
	if err != nil {
		return false, err
	}
	if info.State.Msgs > info.State.LastSeq {
		return true, nil
	}
	gone := info.State.LastSeq - info.State.Msgs
	return gone < purged || gone > purged+intent.most, nil
}

func purgedCount(metadata map[string]string) (uint64, error) {
	text := metadata[keyPurged]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count of purged messages: %w", err)
	}
	return n, nil
}

// intent is a purge that is under way: it is written down before, so that one that was cut
// off is finished by the next Open and its messages are counted.
type intent struct {
	codebase store.CodebaseID
	below    uint64
	most     uint64 // how many messages it may take
}

func (i intent) String() string {
	return fmt.Sprintf("%s %d %d", i.codebase, i.below, i.most)
}

func parseIntent(text string) (intent, error) {
	var i intent
	if text == "" {
		return i, nil
	}
	if _, err := fmt.Sscanf(text, "%s %d %d", &i.codebase, &i.below, &i.most); err != nil {
		return intent{}, fmt.Errorf("purge under way %q: %w", text, err)
	}
	return i, nil
}

// Purge implements bus.Bus.
func (b *Bus) Purge(ctx context.Context, id store.CodebaseID, below uint64) error {
	if err := bus.CheckSubject(id, bus.LaneSync); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	b.reshaping.Lock()
	defer b.reshaping.Unlock()
	if err := b.purge(ctx, id, below); err != nil {
		return fmt.Errorf("purge %s below %d: %w", id, below, err)
	}
	return nil
}

func (b *Bus) purge(ctx context.Context, id store.CodebaseID, below uint64) error {
	info, err := b.current().stream.Info(ctx, jetstream.WithSubjectFilter(b.subject(id, "*")))
	if err != nil {
		return err
	}
	i := intent{codebase: id, below: below}
	for _, n := range info.State.Subjects {
		i.most += n
	}
	if i.most == 0 {
		return nil
	}
	if err := b.annotate(ctx, info.Config, map[string]string{keyPurging: i.String()}); err != nil {
		return err
	}
	// From here on it goes through, whatever becomes of the caller.
	return b.carryOut(context.WithoutCancel(ctx), i)
}

// carryOut purges and counts what it took.
func (b *Bus) carryOut(ctx context.Context, i intent) error {
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	request, err := json.Marshal(map[string]any{"filter": b.subject(i.codebase, "*"), "seq": i.below})
	if err != nil {
		return err
	}
	reply, err := b.conn.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+b.wantedLog().Name, request)
	if err != nil {
		return err
	}
	var answer struct {
		Error  *jetstream.APIError `json:"error"`
		Purged uint64              `json:"purged"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return fmt.Errorf("answer %q: %w", reply.Data, err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	info, err := b.current().stream.Info(ctx)
	if err != nil {
		return err
	}
	purged, err := purgedCount(info.Config.Metadata)
	if err != nil {
		return err
	}
	return b.annotate(ctx, info.Config, map[string]string{
		keyPurged: strconv.FormatUint(purged+answer.Purged, 10), keyPurging: "",
	})
}

// annotate changes the stream's metadata; "" removes a key.
func (b *Bus) annotate(ctx context.Context, config jetstream.StreamConfig, changes map[string]string) error {
	config.Metadata = maps.Clone(config.Metadata)
	for key, value := range changes {
		config.Metadata[key] = value
		if value == "" {
			delete(config.Metadata, key)
		}
	}
	if _, err := b.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("annotate stream %s: %w", config.Name, err)
	}
	return nil
}

// finishPurge carries a purge out again that was cut off. How much the first run took is
// not known any more: what is missing now is counted as purged, as far as the purge could
// have taken it; what is missing beyond stays a gap.
func (b *Bus) finishPurge(ctx context.Context) error {
	info, err := b.current().stream.Info(ctx)
	if err != nil {
		return err
	}
	i, err := parseIntent(info.Config.Metadata[keyPurging])
	if err != nil || i.codebase == "" {
		return err
	}
	gap, err := missing(info)
	if err != nil {
		return err
	}
	if gap {
		return b.annotate(ctx, info.Config, map[string]string{keyPurging: ""})
	}
	gone := info.State.LastSeq - info.State.Msgs
	if err := b.annotate(ctx, info.Config, map[string]string{keyPurged: strconv.FormatUint(gone, 10)}); err != nil {
		return err
	}
	return b.carryOut(ctx, i)
}

// Reset implements bus.Bus.
func (b *Bus) Reset(ctx context.Context) (bus.State, error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return bus.State{}, err
	}
	defer leave()
	b.reshaping.Lock()
	defer b.reshaping.Unlock()
	wanted := b.wantedLog()
	if err := b.js.DeleteStream(ctx, wanted.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return bus.State{}, fmt.Errorf("reset log: %w", err)
	}
	stream, err := b.create(ctx, wanted)
	if err != nil {
		return bus.State{}, fmt.Errorf("reset log: %w", err)
	}
	b.begin(stream)
	return b.state(ctx)
}

package natsbus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

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
	ctx, leave, err := b.join(ctx)
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
	if b.remote() { // one that was cut off was left for whoever purges next
		if err := b.finishPurge(ctx); err != nil {
			return err
		}
	}
	i, err := b.announce(ctx, id, below)
	if err != nil {
		return err
	}
	if i.most == 0 { // what was purged before may lie in the files still
		return b.keys.forgetWhole(i)
	}
	// From here on it goes through, whatever becomes of the caller.
	return b.carryOut(context.WithoutCancel(ctx), i)
}

// announce writes down which purge is under way, unless there is nothing to purge.
func (b *Bus) announce(ctx context.Context, id store.CodebaseID, below uint64) (intent, error) {
	info, err := b.current().stream.Info(ctx, jetstream.WithSubjectFilter(b.subject(id, "*")))
	if err != nil {
		return intent{}, err
	}
	i := intent{codebase: id, below: below}
	for _, n := range info.State.Subjects {
		i.most += n
	}
	if i.most == 0 {
		return i, nil
	}
	return i, b.annotate(ctx, info.Config, map[string]string{keyPurging: i.String()})
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
	if err := b.keys.forgetWhole(i); err != nil {
		return err
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

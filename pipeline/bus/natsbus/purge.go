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

// purgeIntent is a purge in progress. It is recorded in the stream's metadata before the
// purge begins (write-ahead), so that the next Open finishes an interrupted purge and counts
// the messages that it removed.
type purgeIntent struct {
	codebase store.CodebaseID
	below    uint64
	limit    uint64 // the most messages that it may remove
}

func (i purgeIntent) String() string {
	return fmt.Sprintf("%s %d %d", i.codebase, i.below, i.limit)
}

func parseIntent(text string) (purgeIntent, error) {
	var i purgeIntent
	if text == "" {
		return i, nil
	}
	if _, err := fmt.Sscanf(text, "%s %d %d", &i.codebase, &i.below, &i.limit); err != nil {
		return purgeIntent{}, fmt.Errorf("recorded purge %q: %w", text, err)
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
	b.exclusive.Lock()
	defer b.exclusive.Unlock()
	if err := b.purge(ctx, id, below); err != nil {
		return fmt.Errorf("purge %s below %d: %w", id, below, err)
	}
	return nil
}

func (b *Bus) purge(ctx context.Context, id store.CodebaseID, below uint64) error {
	if b.remote() { // there the next purge finishes an interrupted one
		if err := b.finishPurge(ctx); err != nil {
			return err
		}
	}
	i, err := b.recordIntent(ctx, id, below)
	if err != nil {
		return err
	}
	if i.limit == 0 { // what was purged before may lie in the files still
		return b.keys.forgetWhole(i)
	}
	// From here on the purge is finished even if the caller's context ends.
	return b.runPurge(context.WithoutCancel(ctx), i)
}

// recordIntent records a purge before it begins, unless there is nothing to purge.
func (b *Bus) recordIntent(ctx context.Context, id store.CodebaseID, below uint64) (purgeIntent, error) {
	info, err := b.current().stream.Info(ctx, jetstream.WithSubjectFilter(b.subject(id, "*")))
	if err != nil {
		return purgeIntent{}, err
	}
	i := purgeIntent{codebase: id, below: below}
	for _, n := range info.State.Subjects {
		i.limit += n
	}
	if i.limit == 0 {
		return i, nil
	}
	return i, b.updateMetadata(ctx, info.Config, map[string]string{keyPurging: i.String()})
}

// runPurge purges and adds the messages that it removed to the count in the metadata.
func (b *Bus) runPurge(ctx context.Context, i purgeIntent) error {
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
	return b.updateMetadata(ctx, info.Config, map[string]string{
		keyPurged: strconv.FormatUint(purged+answer.Purged, 10), keyPurging: "",
	})
}

// updateMetadata changes the stream's metadata; "" removes a key.
func (b *Bus) updateMetadata(ctx context.Context, config jetstream.StreamConfig, changes map[string]string) error {
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

// finishPurge repeats an interrupted purge. How many messages the first run removed is not
// known: those missing now are counted as purged, up to the limit of the intent; further
// ones stay a gap.
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
		return b.updateMetadata(ctx, info.Config, map[string]string{keyPurging: ""})
	}
	gone := info.State.LastSeq - info.State.Msgs
	if err := b.updateMetadata(ctx, info.Config, map[string]string{keyPurged: strconv.FormatUint(gone, 10)}); err != nil {
		return err
	}
	return b.runPurge(ctx, i)
}

package natsbus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/store"
)

// MessageCounts implements bus.Bus.
func (b *Bus) MessageCounts(ctx context.Context) (map[store.CodebaseID]uint64, error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	info, err := b.current().stream.Info(ctx, jetstream.WithSubjectFilter("freshet."+b.opts.Tenant+".>"))
	if err != nil {
		return nil, fmt.Errorf("count messages by codebase: %w", err)
	}
	held := map[store.CodebaseID]uint64{}
	for subject, n := range info.State.Subjects {
		id, _, err := b.parseSubject(subject)
		if err != nil {
			return nil, fmt.Errorf("count messages by codebase: %w", err)
		}
		held[id] += n
	}
	return held, nil
}

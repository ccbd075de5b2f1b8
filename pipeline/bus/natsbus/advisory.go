package natsbus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go"
)

// heed has what the cluster says of the tenant's streams logged and counted: deliveries
// that were given up or ended, leaders that changed, and a majority that is lost.
func (b *Bus) heed() error {
	for _, name := range []string{b.wantedLog().Name, b.wantedDead().Name} {
		for _, subject := range []string{
			"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + name + ".>",
			"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED." + name + ".>",
			"$JS.EVENT.ADVISORY.CONSUMER.QUORUM_LOST." + name + ".>",
			"$JS.EVENT.ADVISORY.STREAM.QUORUM_LOST." + name,
			"$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED." + name,
		} {
			if _, err := b.conn.Subscribe(subject, b.advised); err != nil {
				return fmt.Errorf("subscribe to advisories: %w", err)
			}
		}
	}
	return nil
}

// advisory is what the advisories that are heeded have in common.
type advisory struct {
	Stream     string `json:"stream"`
	Consumer   string `json:"consumer"`
	Sequence   uint64 `json:"stream_seq"`
	Deliveries uint64 `json:"deliveries"`
	Leader     string `json:"leader"`
	Reason     string `json:"reason"`
}

func (b *Bus) advised(msg *nats.Msg) {
	var a advisory
	if err := json.Unmarshal(msg.Data, &a); err != nil {
		b.opts.Log.Debug("advisory cannot be read", "subject", msg.Subject, "error", err)
		return
	}
	kind := strings.Split(strings.TrimPrefix(msg.Subject, "$JS.EVENT.ADVISORY."), ".")[1]
	b.mu.Lock()
	b.advisories[strings.ToLower(kind)]++
	b.mu.Unlock()
	switch kind {
	case "MSG_TERMINATED": // nothing of freshet does that
		b.opts.Log.Warn("delivery ended by somebody", "stream", a.Stream, "consumer", a.Consumer,
			"sequence", a.Sequence, "deliveries", a.Deliveries, "reason", a.Reason)
	case "MAX_DELIVERIES":
		b.opts.Log.Warn("delivery given up by the server", "stream", a.Stream, "consumer", a.Consumer,
			"sequence", a.Sequence, "deliveries", a.Deliveries)
	case "QUORUM_LOST":
		b.opts.Log.Warn("majority of the servers lost", "stream", a.Stream, "consumer", a.Consumer)
	default:
		b.opts.Log.Info("leader elected", "stream", a.Stream, "leader", a.Leader)
	}
}

// Marks are what ought to be looked at.
type Marks struct {
	// DeadLetters counts those that there are.
	DeadLetters uint64
	// Advisories counts, by kind, what the cluster said of the tenant's streams since Open.
	// A server in this process says nothing.
	Advisories map[string]uint64
}

// Marks counts dead letters and advisories.
func (b *Bus) Marks(ctx context.Context) (Marks, error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return Marks{}, err
	}
	defer leave()
	info, err := b.dead.Info(ctx)
	if err != nil {
		return Marks{}, fmt.Errorf("inspect dead letters: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return Marks{DeadLetters: info.State.Msgs, Advisories: maps.Clone(b.advisories)}, nil
}

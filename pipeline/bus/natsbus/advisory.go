package natsbus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go"
)

// subscribeAdvisories has JetStream's advisories about the tenant's streams logged and
// counted: deliveries that were given up or terminated, elected leaders, and a lost quorum.
func (b *Bus) subscribeAdvisories() error {
	for _, name := range []string{b.wantedLog().Name, b.wantedDead().Name} {
		for _, subject := range []string{
			"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + name + ".>",
			"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED." + name + ".>",
			"$JS.EVENT.ADVISORY.CONSUMER.QUORUM_LOST." + name + ".>",
			"$JS.EVENT.ADVISORY.STREAM.QUORUM_LOST." + name,
			"$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED." + name,
		} {
			if _, err := b.conn.Subscribe(subject, b.handleAdvisory); err != nil {
				return fmt.Errorf("subscribe to advisories: %w", err)
			}
		}
	}
	return nil
}

// advisory holds the fields of JetStream's advisories that are logged.
type advisory struct {
	Stream     string `json:"stream"`
	Consumer   string `json:"consumer"`
	Sequence   uint64 `json:"stream_seq"`
	Deliveries uint64 `json:"deliveries"`
	Leader     string `json:"leader"`
	Reason     string `json:"reason"`
}

func (b *Bus) handleAdvisory(msg *nats.Msg) {
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
	case "MSG_TERMINATED": // freshet never terminates a delivery
		b.opts.Log.Warn("delivery terminated by another client", "stream", a.Stream, "consumer", a.Consumer,
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

// Marks are the counts that an operator should look at when they rise.
type Marks struct {
	// DeadLetters is the number of dead letters now.
	DeadLetters uint64
	// Advisories counts, by kind, the advisories about the tenant's streams since Open. An
	// embedded server sends none.
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

package natsbus_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
	"github.com/freshet/freshet/store"
)

// TestClusterOutlivesAServer publishes and consumes while a server is stopped and comes back:
// nothing that was acknowledged is lost, and everything is handled.
func TestClusterOutlivesAServer(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Start(t, 3)
	b := open(t, natsbus.Options{URL: cluster.URL(), AckWait: 3 * time.Second})
	defer func() { must(t, b.Close()) }()
	const rounds, each = 1, 20
	handled := make(chan string, rounds*each*10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.Consume(ctx, bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}}, func(_ context.Context, d bus.Delivery) error {
			select {
			case handled <- d.ID:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	for round := range rounds {
		publishBatch(t, b, store.CodebaseID(fmt.Sprintf("before%d", round)), 0, each, 10)
		cluster.Stop(round)
		publishBatch(t, b, store.CodebaseID(fmt.Sprintf("without%d", round)), 0, each, 10)
		cluster.Restart(round)
	}
	seen := map[string]bool{}
	for len(seen) < 2*rounds*each {
		seen[receive(t, handled)] = true
	}
	cancel()
	must(t, receive(t, done))
	state, err := b.State(t.Context())
	must(t, err)
	if state.Gap || state.Messages < 2*rounds*each {
		t.Errorf("the log has %+v", state)
	}
}

// TestPublishOutlivesElections: the stream's leader steps down over and over while batches are
// published, so that some of them lose the one that staged their first messages. Each is in
// the log whole and once.
func TestPublishOutlivesElections(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Start(t, 3)
	b := open(t, natsbus.Options{URL: cluster.URL()})
	defer func() { must(t, b.Close()) }()
	conn, err := nats.Connect(cluster.URL())
	must(t, err)
	defer conn.Close()
	const elected = 5
	var elections atomic.Int32
	done, published := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		for elections.Load() < elected {
			select { // a batch got through since the last election
			case <-published:
			case <-t.Context().Done():
			}
			answer, err := conn.Request("$JS.API.STREAM.LEADER.STEPDOWN.freshet-default", nil, 3*time.Second)
			if err == nil && strings.Contains(string(answer.Data), `"success":true`) {
				elections.Add(1)
			}
			if t.Context().Err() != nil {
				break
			}
		}
		done <- nil
	}()
	const each = 300
	batches := 0
	for ; elections.Load() < elected; batches++ {
		publishBatch(t, b, "c", batches*each, each, 8<<10)
		select {
		case published <- struct{}{}:
		default:
		}
	}
	must(t, receive(t, done))
	state, err := b.State(t.Context())
	must(t, err)
	if state.Messages != uint64(batches*each) {
		t.Errorf("the log has %d messages, want %d", state.Messages, batches*each)
	}
}

// TestOpenRefusesOtherLimits: a process that wants other limits than the stream has is told
// the setting, and changes nothing.
func TestOpenRefusesOtherLimits(t *testing.T) {
	t.Parallel()
	srv := remoteServer(t)
	must(t, open(t, natsbus.Options{URL: srv.ClientURL()}).Close())
	for _, c := range []struct {
		name    string
		options natsbus.Options
		want    string
	}{
		{"size", natsbus.Options{MaxBytes: 5 << 20}, "max bytes 1073741824 instead of 5242880"},
		{"replicas", natsbus.Options{Remote: natsbus.Remote{Replicas: 3}}, "replicas 1 instead of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.options.URL = srv.ClientURL()
			b, err := natsbus.Open(t.Context(), c.options)
			if err == nil {
				must(t, b.Close())
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "freshet-default") {
				t.Errorf("refused with %v, want %q", err, c.want)
			}
		})
	}
}

// TestReplicasOfACluster: streams of a cluster have three, unless told otherwise.
func TestReplicasOfACluster(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Start(t, 3)
	must(t, open(t, natsbus.Options{URL: cluster.URL()}).Close())
	must(t, open(t, natsbus.Options{URL: cluster.URL(), Remote: natsbus.Remote{Replicas: 3}}).Close())
	must(t, open(t, natsbus.Options{URL: cluster.URL(), Tenant: "one", Remote: natsbus.Remote{Replicas: 1}}).Close())
	if _, err := natsbus.Open(t.Context(), natsbus.Options{URL: cluster.URL(), Tenant: "one"}); err == nil ||
		!strings.Contains(err.Error(), "replicas 1 instead of 3") {
		t.Errorf("one replica where three are wanted: %v", err)
	}
}

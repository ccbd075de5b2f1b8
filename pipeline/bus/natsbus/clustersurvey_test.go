package natsbus

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
)

// TestLook surveys a server before its first use and after, with streams that somebody
// changed; what Open refuses is named, setting by setting, and Open refuses it.
func TestLook(t *testing.T) {
	t.Parallel()
	node := clustertest.Start(t, 1)
	o := Options{URL: node.URL()}
	look := func() Survey {
		t.Helper()
		s, err := Look(t.Context(), o)
		must(t, err)
		must(t, s.Err)
		return s
	}
	if s := look(); len(s.Servers) != 1 || s.Servers[0].Err != nil || s.Servers[0].Refused != nil || s.Servers[0].RoundTrip <= 0 ||
		len(s.Streams) != 2 || !s.Streams[0].Missing || s.Dated {
		t.Errorf("before the first use: %+v", s)
	}
	b, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	s := look()
	for _, stream := range s.Streams {
		if stream.Missing || len(stream.Wrong) > 0 || stream.Leader == "" || stream.Replicas != 1 || stream.MaxBytes == 0 {
			t.Errorf("in use: %+v", stream)
		}
	}
	if !s.Dated || s.Ahead.Abs() > time.Minute {
		t.Errorf("the clock is ahead by %s (%t)", s.Ahead, s.Dated)
	}
	for _, c := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   []string
	}{
		{"age and discard", func(c *jetstream.StreamConfig) { c.MaxAge, c.Discard = time.Hour, jetstream.DiscardOld }, []string{"max age", "discard"}},
		{"size", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, []string{"max bytes 1048576 instead of 1073741824"}},
		{"another's", func(c *jetstream.StreamConfig) { c.Metadata = nil }, []string{"not made by freshet"}},
		{"a newer binary's", func(c *jetstream.StreamConfig) { c.Metadata[keySettings] = "99" }, []string{"version 99"}},
	} {
		config := b.wantedLog()
		config.Metadata = map[string]string{keySettings: "2", keyIncarnation: "mine"}
		c.change(&config)
		must(t, b.js.DeleteStream(t.Context(), config.Name))
		_, err := b.js.CreateStream(t.Context(), config)
		must(t, err)
		wrong := strings.Join(look().Streams[0].Wrong, ", ")
		_, refusal := Open(t.Context(), o)
		if refusal == nil || !strings.Contains(refusal.Error(), config.Name) {
			t.Errorf("%s: opened with %v", c.name, refusal)
		}
		for _, want := range c.want {
			if !strings.Contains(wrong, want) || refusal != nil && !strings.Contains(refusal.Error(), want) {
				t.Errorf("%s: wrong %q, refused %v, want %s", c.name, wrong, refusal, want)
			}
		}
	}
	node.Stop(0)
	if s, err := Look(t.Context(), o); err != nil || s.Err == nil || s.Servers[0].Err == nil {
		t.Errorf("away: %+v, %v", s, err)
	}
}

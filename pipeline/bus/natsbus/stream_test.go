package natsbus

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestOpenRefusesForeignStreams: a stream with other settings is refused by name, one of
// ours with older settings is brought up to date.
func TestOpenRefusesForeignStreams(t *testing.T) {
	t.Parallel()
	ours := func(c *jetstream.StreamConfig) {
		c.Metadata = map[string]string{keySettings: strconv.Itoa(settings), keyIncarnation: "before"}
	}
	for _, c := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   string // in the error; "" means accepted
	}{
		{"nobody's", func(c *jetstream.StreamConfig) { c.Metadata = nil }, "not made by freshet"},
		{"discard old", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard"},
		{"in memory", func(c *jetstream.StreamConfig) { c.Storage, c.MaxBytes = jetstream.MemoryStorage, 1<<20 }, "storage"},
		{"work queue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "retention"},
		{"not atomic", func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "atomic publish"},
		{"an age", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max age"},
		{"few messages", func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, "max messages"},
		{"one a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max messages"},
		{"short memory", func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, "duplicate window"},
		{"other subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"freshet.default.>"} }, "subjects"},
		{"no purging", func(c *jetstream.StreamConfig) { c.DenyPurge = true }, "deletion"},
		{"newer", func(c *jetstream.StreamConfig) { c.Metadata[keySettings] = strconv.Itoa(settings + 1) }, "upgrade"},
		{"older", func(c *jetstream.StreamConfig) {
			c.Metadata[keySettings] = "0"
			c.Duplicates, c.AllowAtomicPublish = time.Minute, false
		}, ""},
		{"older and beyond change", func(c *jetstream.StreamConfig) {
			c.Metadata[keySettings] = "0"
			c.Storage, c.MaxBytes = jetstream.MemoryStorage, 1<<20
		}, "cannot be given"},
		{"smaller", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openOwn(t, t.TempDir())
			config := b.wantedLog()
			must(t, b.js.DeleteStream(t.Context(), config.Name))
			ours(&config)
			c.change(&config)
			_, err := b.js.CreateStream(t.Context(), config)
			must(t, err)
			stream, err := b.ensure(t.Context(), b.wantedLog())
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), config.Name) {
					t.Fatalf("accepted with %v, want an error that names %s and %q", err, config.Name, c.want)
				}
				if _, err := b.js.Stream(t.Context(), config.Name); err != nil {
					t.Errorf("the stream was taken away: %v", err)
				}
				return
			}
			must(t, err)
			got := stream.CachedInfo().Config
			if differ := difference(got, b.wantedLog()); len(differ) > 0 || got.MaxBytes != 1<<30 {
				t.Errorf("it still differs in %v, %d bytes", differ, got.MaxBytes)
			}
			if got.Metadata[keyIncarnation] != "before" || got.Metadata[keySettings] != strconv.Itoa(settings) {
				t.Errorf("metadata became %v", got.Metadata)
			}
		})
	}
}

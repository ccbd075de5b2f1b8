package natsbus

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
)

// TestUpgradeElsewhere: a stream elsewhere that an older version made gets the settings of
// this one and keeps everything else. What an operator set is refused by name, as in one of
// this version, and left as it is.
func TestUpgradeElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   string // in the error; "" means accepted
	}{
		{"as it was made", func(*jetstream.StreamConfig) {}, ""},
		{"compressed", func(c *jetstream.StreamConfig) { c.Compression = jetstream.S2Compression }, ""},
		{"an age", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max age"},
		{"few messages", func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, "max messages"},
		{"one a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max messages"},
		{"few consumers", func(c *jetstream.StreamConfig) { c.MaxConsumers = 3 }, "max consumers"},
		{"smaller", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "max bytes 1048576 instead of"},
		{"small messages", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 10 }, "max message size 1024 instead of"},
		{"short memory", func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, "duplicate window"},
		{"discard old", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard"},
		{"more subjects", func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "mine."+c.Name) }, "subjects"},
		{"two", func(c *jetstream.StreamConfig) { c.MaxAge, c.MaxBytes = time.Hour, 1<<20 }, "(max age, max bytes 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			node := clustertest.Start(t, 1)
			o := Options{URL: node.URL()}
			b, err := Open(t.Context(), o)
			must(t, err)
			defer func() { must(t, b.Close()) }()
			for _, wanted := range []jetstream.StreamConfig{b.wantedLog(), b.wantedDead()} {
				must(t, b.js.DeleteStream(t.Context(), wanted.Name))
				old := b.formerSettings(1, wanted)
				old.Metadata = map[string]string{keySettings: "1", keyIncarnation: "before", keyPurged: "0"}
				c.change(&old)
				stream, err := b.js.CreateStream(t.Context(), old)
				must(t, err)
				found := stream.CachedInfo().Config
				survey, err := Look(t.Context(), o)
				must(t, err)
				wrong := survey.Streams[slices.IndexFunc(survey.Streams, func(s StreamSurvey) bool { return s.Name == wanted.Name })].Wrong
				_, refusal := b.ensure(t.Context(), wanted)
				stream, err = b.js.Stream(t.Context(), wanted.Name)
				must(t, err)
				got := stream.CachedInfo().Config
				if c.want == "" {
					must(t, refusal)
					found.Subjects, found.Metadata[keySettings] = wanted.Subjects, strconv.Itoa(settings)
					slices.Sort(got.Subjects)
					slices.Sort(found.Subjects)
				} else if refusal == nil || !strings.Contains(refusal.Error(), c.want) || !strings.Contains(refusal.Error(), wanted.Name) {
					t.Errorf("%s: refused with %v, want %q", wanted.Name, refusal, c.want)
				}
				if named := strings.Join(wrong, ", "); (refusal == nil) != (named == "") || refusal != nil && !strings.Contains(refusal.Error(), named) {
					t.Errorf("%s: the survey names %q, the refusal is %v", wanted.Name, named, refusal)
				}
				if diff := cmp.Diff(found, got); diff != "" {
					t.Errorf("%s: the stream became another (-want +got):\n%s", wanted.Name, diff)
				}
			}
		})
	}
}

package natsbus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// settings is the version of the streams' settings. A stream with a lower version is
// upgraded; see formerSettings.
const settings = 2

// The keys of a stream's metadata.
const (
	keySettings    = "freshet.settings"
	keyIncarnation = "freshet.incarnation"
	keyPurged      = "freshet.purged"
	keyPurging     = "freshet.purging"
)

// dedupeWindow is how long the server remembers a message's ID to drop duplicates.
const dedupeWindow = 2 * time.Minute

// The limits of the stream of dead letters.
const (
	deadBytes = 256 << 20
	deadSlack = 8 << 10 // what the headers of a dead letter add to the message
)

// maxHeaders bounds the headers of a message in bytes.
const maxHeaders = 4 << 10

func (b *Bus) wantedLog() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               "freshet-" + b.opts.Tenant,
		Replicas:           b.replicas(),
		Description:        "freshet: event log of tenant " + b.opts.Tenant,
		Subjects:           b.laneSubjects(bus.Lanes()),
		Storage:            jetstream.FileStorage,
		Retention:          jetstream.LimitsPolicy,
		Discard:            jetstream.DiscardNew,
		MaxBytes:           b.opts.MaxBytes,
		MaxMsgSize:         bus.MaxMessage + maxHeaders,
		Duplicates:         dedupeWindow,
		AllowAtomicPublish: true,
	}
}

func (b *Bus) wantedDead() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "freshet-" + b.opts.Tenant + "-dead",
		Replicas:    b.replicas(),
		Description: "freshet: dead letters of tenant " + b.opts.Tenant,
		Subjects:    []string{"freshet-dead." + b.opts.Tenant + ".>"},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    deadBytes,
		MaxMsgSize:  bus.MaxMessage + maxHeaders + deadSlack,
		Duplicates:  dedupeWindow,
	}
}

func (b *Bus) laneSubjects(lanes []bus.Lane) []string {
	subjects := make([]string, len(lanes))
	for i, lane := range lanes {
		subjects[i] = b.subject("*", lane)
	}
	return subjects
}

// ensure returns the stream of a name, and creates it when there is none. It refuses a
// stream that freshet did not make or that has other settings, and names them. Of processes
// that find none at the same moment one creates it and the others use that one.
func (b *Bus) ensure(ctx context.Context, wanted jetstream.StreamConfig) (jetstream.Stream, error) {
	for tries := 1; ; tries++ {
		stream, err := b.lookUp(ctx, wanted.Name)
		if err == nil {
			return b.adopt(ctx, stream, wanted)
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, fmt.Errorf("look up stream %s: %w", wanted.Name, err)
		}
		stream, err = b.create(ctx, wanted)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || tries == createTries {
			return stream, err
		}
		if err := bus.Pause(ctx, bus.MinDelay); err != nil {
			return nil, fmt.Errorf("create stream %s: %w", wanted.Name, err)
		}
	}
}

// adopt checks a stream that exists and upgrades its settings where they are of an older
// version.
func (b *Bus) adopt(ctx context.Context, stream jetstream.Stream, wanted jetstream.StreamConfig) (jetstream.Stream, error) {
	config := stream.CachedInfo().Config
	version, err := strconv.Atoi(config.Metadata[keySettings])
	if err != nil || config.Metadata[keyIncarnation] == "" {
		return nil, fmt.Errorf("stream %s exists and was not made by freshet: rename or delete it", wanted.Name)
	}
	if version > settings {
		return nil, fmt.Errorf("stream %s has settings of version %d, this binary knows %d: upgrade it", wanted.Name, version, settings)
	}
	if foreign := b.foreignSettings(version, config, wanted); len(foreign) > 0 {
		return nil, fmt.Errorf("stream %s has other settings than freshet's (%s): restore them or delete it",
			wanted.Name, strings.Join(foreign, ", "))
	}
	tuned := !b.remote() && (config.MaxBytes != wanted.MaxBytes || config.MaxMsgSize != wanted.MaxMsgSize)
	if version == settings && !tuned {
		return stream, nil
	}
	stream, err = b.js.UpdateStream(ctx, b.upgradedConfig(config, wanted))
	if err != nil {
		return nil, fmt.Errorf("stream %s cannot be given freshet's settings (%s): %w",
			wanted.Name, strings.Join(difference(config, wanted), ", "), err)
	}
	return stream, nil
}

// foreignSettings names the settings of a stream that no version of freshet set. A stream of
// an older version may have the settings of that version or already those of this one. An
// embedded stream of an older version is not checked: only freshet can have set it.
func (b *Bus) foreignSettings(version int, have, want jetstream.StreamConfig) []string {
	differ := func(want jetstream.StreamConfig) []string {
		names := difference(have, want)
		if b.remote() { // processes that want other limits would change them in turns
			names = append(names, limits(have, want)...)
		}
		return names
	}
	names := differ(want)
	switch {
	case version == settings:
		return names
	case !b.remote():
		return nil
	}
	then := differ(b.formerSettings(version, want))
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(then, name) })
}

// formerSettings returns the configuration that an older version of freshet gave a stream.
func (b *Bus) formerSettings(version int, wanted jetstream.StreamConfig) jetstream.StreamConfig {
	if version < 2 && wanted.Name == b.wantedLog().Name {
		wanted.Subjects = b.laneSubjects([]bus.Lane{bus.LaneSync, bus.LaneChunk, bus.LaneEmbed, bus.LaneApply})
	}
	return wanted
}

// upgradedConfig returns a stream's configuration with the wanted settings. On a remote
// server it keeps the settings that freshet does not require.
func (b *Bus) upgradedConfig(config, wanted jetstream.StreamConfig) jetstream.StreamConfig {
	metadata := maps.Clone(config.Metadata)
	metadata[keySettings] = strconv.Itoa(settings)
	if !b.remote() {
		wanted.Metadata, wanted.Replicas, wanted.Placement = metadata, config.Replicas, config.Placement
		return wanted
	}
	config.Metadata, config.Description, config.Subjects = metadata, wanted.Description, wanted.Subjects
	config.MaxMsgSize, config.Duplicates, config.AllowAtomicPublish = wanted.MaxMsgSize, wanted.Duplicates, wanted.AllowAtomicPublish
	return config
}

// createTries bounds the attempts to create a stream that is empty.
const createTries = 20

// create creates a stream and makes sure that it is empty: the server removes the files of a
// deleted stream in the background, and may take them for the new one's.
func (b *Bus) create(ctx context.Context, wanted jetstream.StreamConfig) (jetstream.Stream, error) {
	for tries := 1; ; tries++ {
		wanted.Metadata = map[string]string{
			keySettings:    strconv.Itoa(settings),
			keyIncarnation: strings.ToLower(rand.Text()),
		}
		stream, err := b.js.CreateStream(ctx, wanted)
		var refused *jetstream.APIError
		if errors.As(err, &refused) && refused.ErrorCode == codeNoStore && tries < createTries {
			if err := bus.Pause(ctx, bus.MinDelay); err != nil { // the files of the deleted stream still exist
				return nil, fmt.Errorf("create stream %s: %w", wanted.Name, err)
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create stream %s: %w", wanted.Name, err)
		}
		if stream.CachedInfo().State.LastSeq == 0 {
			return stream, nil
		}
		if err := b.js.DeleteStream(ctx, wanted.Name); err != nil {
			return nil, fmt.Errorf("delete stream %s, which is not empty: %w", wanted.Name, err)
		}
		if tries == createTries {
			return nil, fmt.Errorf("create stream %s: it still holds messages of the deleted one", wanted.Name)
		}
		if err := bus.Pause(ctx, bus.MinDelay); err != nil {
			return nil, fmt.Errorf("create stream %s: %w", wanted.Name, err)
		}
	}
}

// difference names the settings in which a stream differs from the wanted ones, apart from
// its size limits, which an operator may tune, and its replicas.
func difference(have, want jetstream.StreamConfig) []string {
	slices.Sort(have.Subjects)
	slices.Sort(want.Subjects)
	var names []string
	check := func(name string, same bool) {
		if !same {
			names = append(names, name)
		}
	}
	check("subjects", slices.Equal(have.Subjects, want.Subjects))
	check("storage", have.Storage == want.Storage)
	check("retention", have.Retention == want.Retention)
	check("discard", have.Discard == want.Discard && !have.DiscardNewPerSubject)
	check("max messages", have.MaxMsgs <= 0 && have.MaxMsgsPerSubject <= 0)
	check("max age", have.MaxAge == 0)
	check("max consumers", have.MaxConsumers <= 0)
	check("duplicate window", have.Duplicates == want.Duplicates)
	check("atomic publish", have.AllowAtomicPublish == want.AllowAtomicPublish)
	check("acknowledgement", !have.NoAck && !have.Sealed)
	check("deletion", !have.DenyDelete && !have.DenyPurge)
	check("sources", have.Mirror == nil && len(have.Sources) == 0 && have.SubjectTransform == nil && have.RePublish == nil)
	check("time to live", !have.AllowMsgTTL && !have.AllowRollup)
	check("persistence", have.PersistMode == jetstream.DefaultPersistMode)
	check("first sequence", have.FirstSeq <= 1)
	return names
}

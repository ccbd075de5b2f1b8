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

// settings is the version of the streams' settings. A stream of ours with a lower one is
// brought up to it; see former.
const settings = 2

// The keys of a stream's metadata.
const (
	keySettings    = "freshet.settings"
	keyIncarnation = "freshet.incarnation"
	keyPurged      = "freshet.purged"
	keyPurging     = "freshet.purging"
)

// dedupeWindow is how long a message's ID is remembered.
const dedupeWindow = 2 * time.Minute

// The dead letters have room of their own.
const (
	deadBytes = 256 << 20
	deadSlack = 8 << 10 // what the headers of a dead letter add to the message
)

// maxHeaders is the room for the headers of a message.
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

// ensure returns the stream that is wanted: the one that exists, when it is ours and has
// the settings, or a new one. It refuses, and names, a stream with others. Of processes that
// find none at the same moment one makes it and the others take that one.
func (b *Bus) ensure(ctx context.Context, wanted jetstream.StreamConfig) (jetstream.Stream, error) {
	for tries := 1; ; tries++ {
		stream, err := b.look(ctx, wanted.Name)
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

// adopt returns a stream that exists, with the settings that are wanted.
func (b *Bus) adopt(ctx context.Context, stream jetstream.Stream, wanted jetstream.StreamConfig) (jetstream.Stream, error) {
	config := stream.CachedInfo().Config
	version, err := strconv.Atoi(config.Metadata[keySettings])
	if err != nil || config.Metadata[keyIncarnation] == "" {
		return nil, fmt.Errorf("stream %s exists and was not made by freshet: rename or delete it", wanted.Name)
	}
	if version > settings {
		return nil, fmt.Errorf("stream %s has settings of version %d, this binary knows %d: upgrade it", wanted.Name, version, settings)
	}
	if foreign := b.foreign(version, config, wanted); len(foreign) > 0 {
		return nil, fmt.Errorf("stream %s has other settings than freshet's (%s): restore them or delete it",
			wanted.Name, strings.Join(foreign, ", "))
	}
	tuned := !b.remote() && (config.MaxBytes != wanted.MaxBytes || config.MaxMsgSize != wanted.MaxMsgSize)
	if version == settings && !tuned {
		return stream, nil
	}
	stream, err = b.js.UpdateStream(ctx, b.renewed(config, wanted))
	if err != nil {
		return nil, fmt.Errorf("stream %s cannot be given freshet's settings (%s): %w",
			wanted.Name, strings.Join(difference(config, wanted), ", "), err)
	}
	return stream, nil
}

// foreign names the settings of a stream that no freshet gave it. One of an older version may
// have those of that version, or of this one already. Nobody but freshet sets an embedded
// stream of an older version.
func (b *Bus) foreign(version int, have, want jetstream.StreamConfig) []string {
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
	then := differ(b.former(version, want))
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(then, name) })
}

// former is what an older version of freshet wanted of a stream.
func (b *Bus) former(version int, wanted jetstream.StreamConfig) jetstream.StreamConfig {
	if version < 2 && wanted.Name == b.wantedLog().Name {
		wanted.Subjects = b.laneSubjects([]bus.Lane{bus.LaneSync, bus.LaneChunk, bus.LaneEmbed, bus.LaneApply})
	}
	return wanted
}

// renewed is a stream's configuration with the settings that are wanted. Elsewhere it keeps
// what freshet does not ask for.
func (b *Bus) renewed(config, wanted jetstream.StreamConfig) jetstream.StreamConfig {
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

// createTries is how often a stream is made until it is there and empty.
const createTries = 20

// create makes a stream and makes sure that it is empty: the server removes the files of a
// deleted stream in the background, and may take what is still there for the new one's.
func (b *Bus) create(ctx context.Context, wanted jetstream.StreamConfig) (jetstream.Stream, error) {
	for tries := 1; ; tries++ {
		wanted.Metadata = map[string]string{
			keySettings:    strconv.Itoa(settings),
			keyIncarnation: strings.ToLower(rand.Text()),
		}
		stream, err := b.js.CreateStream(ctx, wanted)
		var refused *jetstream.APIError
		if errors.As(err, &refused) && refused.ErrorCode == codeNoStore && tries < createTries {
			if err := bus.Pause(ctx, bus.MinDelay); err != nil { // the files of the deleted one are still there
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
			return nil, fmt.Errorf("create stream %s: what was deleted comes back", wanted.Name)
		}
		if err := bus.Pause(ctx, bus.MinDelay); err != nil {
			return nil, fmt.Errorf("create stream %s: %w", wanted.Name, err)
		}
	}
}

// difference names the settings in which a stream differs from what is wanted, apart from
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

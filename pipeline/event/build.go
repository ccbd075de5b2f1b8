package event

import (
	"strings"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// maxReason bounds the reason of a parked file in bytes.
const maxReason = 2000

// Opening makes all events of a snapshot's opening, in the order in which they are to be
// published: snapshot.opened, then its files.removed, then its files.changed, as many as
// the limits ask for. base gives codebase, snapshot, fingerprint and time. Paths are
// quoted by merkle.QuotePath. The counts in opened are filled in. Equal arguments give
// equal events.
func Opening(base Event, opened Opened, changed []File, removed []string) []Event {
	opened.Changed, opened.Removed = len(changed), len(removed)
	first := header(base, SnapshotOpened, partOpened)
	first.Opened = &opened
	events := []Event{first}
	next := partOpened + 1
	for _, paths := range SplitPaths(removed) {
		e := header(base, FilesRemoved, next)
		e.Removed = &Removed{Paths: paths}
		events = append(events, e)
		next++
	}
	for _, files := range SplitFiles(changed) {
		e := header(base, FilesChanged, next)
		e.Changed = &Changed{Files: files}
		events = append(events, e)
		next++
	}
	return events
}

// Chunked makes the files.chunked event that finishes a files.changed event. Make one for
// the whole of it, with the files that are done or parked: a second one would carry the
// same ID. Files that are not get events of their own by Postponed.
func Chunked(changed Event, files []File, at time.Time) Event {
	return processed(changed, FilesChunked, files, at)
}

// Embedded makes the files.embedded event that finishes a files.changed event, once for
// the whole of it. It may be made from the files.chunked event too.
func Embedded(changed Event, files []File, at time.Time) Event {
	return processed(changed, FilesEmbedded, files, at)
}

func processed(base Event, t Type, files []File, at time.Time) Event {
	base.At = at
	e := header(base, t, base.Part)
	e.Processed = &Processed{Files: files}
	return e
}

// SealedAt makes the snapshot.sealed event of a level.
func SealedAt(base Event, body Sealed) Event {
	e := header(base, SnapshotSealed, sealedPart(body.Level))
	e.Sealed = &body
	return e
}

// ParkedBy is the body of the events about a file that a failure parks.
func ParkedBy(f store.Failure) Parked {
	return Parked{Path: merkle.QuotePath(f.Path), Content: f.Content, Stage: f.Stage, Version: f.Version, Tries: f.Tries, Reason: f.Reason}
}

// ParkedFile makes a file.parked event. The reason is cut to what a message bears, and
// made valid UTF-8.
func ParkedFile(base Event, body Parked) Event {
	e := header(base, FileParked, PartParked+parkedBits(body))
	body.Reason = legible(body.Reason)
	e.Parked = &body
	return e
}

// UnparkedFile makes a file.unparked event: the failure does not have the file parked any
// more. Its snapshot is the one whose opening did that: by another content of the path, by
// its removal from the tree (a rename is one, too), by a recipe under which the failure does
// not count, or by trying every parked file again. A file that comes back to a content of
// which a failure is known is parked again by the opening, with a file.parked event.
func UnparkedFile(base Event, body Parked) Event {
	e := header(base, FileUnparked, PartUnparked+parkedBits(body))
	body.Reason = legible(body.Reason)
	e.Parked = &body
	return e
}

// RegisteredCodebase makes a codebase.registered event. Root is quoted by
// merkle.QuotePath, which it does to a raw one.
func RegisteredCodebase(base Event, name, root string) Event {
	return registration(base, CodebaseRegistered, partRegistered, name, root)
}

// ClearedCodebase makes a codebase.cleared event.
func ClearedCodebase(base Event, name, root string) Event {
	return registration(base, CodebaseCleared, partCleared, name, root)
}

func registration(base Event, t Type, part uint32, name, root string) Event {
	base.Snapshot = 0
	e := header(base, t, part)
	e.Registered = &Registered{Name: strings.ToValidUTF8(name, "\uFFFD"), Root: merkle.QuotePath(root)}
	return e
}

// BaselineOf makes the stream.baseline event, the first of an incarnation of the log.
func BaselineOf(body Baseline, at time.Time) Event {
	e := header(Event{Codebase: WholeLog, At: at}, StreamBaseline, partBaseline)
	e.Baseline = &body
	return e
}

// header copies what identifies an event from base, without its body.
func header(base Event, t Type, part uint32) Event {
	return Event{
		Version:     t.Version(),
		Type:        t,
		Codebase:    base.Codebase,
		Snapshot:    base.Snapshot,
		Part:        part,
		Fingerprint: base.Fingerprint,
		At:          instant(base.At),
	}
}

// instant is a time as it reads after it was encoded and decoded.
func instant(t time.Time) time.Time { return t.Round(0).UTC() }

func legible(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return strings.ToValidUTF8(reason, "\uFFFD")
}

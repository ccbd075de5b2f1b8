package event

import (
	"crypto/sha256"
	"encoding/binary"
)

// PartAgain begins the parts of files.changed events that are made again for work that is
// left, after a log was lost.
const PartAgain uint32 = 1 << 29

// maxAgain is the most events that are made again at once: 204,800 files.
const maxAgain = 1 << 10

// Again makes files.changed events for files that are left to do. Their parts follow each
// other from a number that the time in base and the first path give, to the nanosecond: the
// log remembers the ids of minutes and drops an event whose id it knows, so each making
// needs ids of its own. Files beyond maxAgain events are left out: the next reconciliation
// finds them.
func Again(base Event, files []File) []Event {
	runs := SplitFiles(files)
	runs = runs[:min(len(runs), maxAgain)]
	events := make([]Event, 0, len(runs))
	for i, run := range runs {
		e := header(base, FilesChanged, firstAgain(base, files[0])+uint32(i))
		e.Changed = &Changed{Files: run}
		events = append(events, e)
	}
	return events
}

// Postponed makes the files.changed event of files that are taken out of another one because
// they take long or failed, so that those beside them need not wait. The same files of the
// same event give the same event.
func Postponed(changed Event, files []File) Event {
	h := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(files[0].Path), changed.Part))
	e := header(changed, FilesChanged, PartAgain+binary.BigEndian.Uint32(h[:])%(1<<29))
	e.Changed = &Changed{Files: files, Slow: true}
	return e
}

// firstAgain is the part of the first event of a making. It leaves room for maxAgain.
func firstAgain(base Event, first File) uint32 {
	h := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(first.Path), uint64(base.At.UnixNano())))
	return PartAgain + binary.BigEndian.Uint32(h[:])%(1<<29-maxAgain)
}

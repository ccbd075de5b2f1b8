package event

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/freshet/freshet/store"
)

// How parts are numbered. (Codebase, Snapshot, Part) names one event of a codebase among
// those that a writer makes: the ranges of the types do not meet, so that it may also be
// the key of the store's outbox. Only files.chunked and files.embedded share the part of
// the files.changed event they finish; each has a lane of its own.
//
//	snapshot.opened      0
//	files.removed        1, 2, ... in the order of Opening
//	files.changed        the numbers that follow
//	files.changed, again PartAgain + 29 bits of the digest of (time, first path), and on
//	files.changed, slow  PartAgain + 29 bits of the digest of (first path, part it was taken out of)
//	files.chunked        that of its files.changed
//	files.embedded       that of its files.changed
//	snapshot.sealed      PartSealed + 1 for text, + 2 for full
//	file.parked          PartParked + 30 bits of the digest of (path, content, stage, version)
//	file.unparked        PartUnparked + the same bits
//	codebase.registered  0 of snapshot 0
//	codebase.cleared     1 of snapshot 0
//	stream.baseline      2 of snapshot 0, under the codebase WholeLog
const (
	PartSealed   uint32 = 1 << 30
	PartParked   uint32 = 2 << 30
	PartUnparked uint32 = 3 << 30

	partOpened     uint32 = 0
	partRegistered uint32 = 0
	partCleared    uint32 = 1
	partBaseline   uint32 = 2
)

// WholeLog stands in the place of a codebase in an event that concerns every codebase. No
// codebase may have it as its id.
const WholeLog store.CodebaseID = "log"

// ID names the event: the same for a repeat of it, another for the same content in a later
// snapshot, so that editing A to B and back to A makes two events. It is built of codebase,
// snapshot, part and type, and for stream.baseline of the incarnation too; of nothing else.
func (e Event) ID() string {
	b := make([]byte, 0, 64)
	b = append(b, e.Codebase...)
	b = append(b, '/')
	b = strconv.AppendUint(b, e.Snapshot, 10)
	b = append(b, '/')
	b = strconv.AppendUint(b, uint64(e.Part), 10)
	b = append(b, '/')
	b = append(b, e.Type...)
	if e.Baseline != nil {
		b = append(b, '/')
		b = append(b, e.Baseline.Incarnation...)
	}
	return string(b)
}

// sealedPart is the part of a snapshot.sealed event, 0 for a level that cannot be sealed.
func sealedPart(level string) uint32 {
	switch level {
	case store.LevelText.String():
		return PartSealed + 1
	case store.LevelFull.String():
		return PartSealed + 2
	}
	return 0
}

// parkedBits is what tells the parked files of one snapshot apart.
func parkedBits(p Parked) uint32 {
	h := sha256.New()
	for _, field := range []string{p.Path, p.Content.String(), string(p.Stage), p.Version} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(field)))
		h.Write(n[:])
		h.Write([]byte(field))
	}
	return binary.BigEndian.Uint32(h.Sum(nil)) >> 2
}

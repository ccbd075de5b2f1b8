package sqlitestore

import (
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// How the words of the store are written into the columns of their tables, and the columns
// in that order.
const (
	codebaseColumns = "key, id, place, root, name, device, inode, registered_at, current, latest, failure, sum"
	snapshotColumns = "codebase, number, parent, base, fingerprint, root, level, abandoned, rebuild, opened_at, old_at, files, bytes, changed, pinned, ref, segments, sum"
	fileColumns     = "codebase, path, first, last, content, size, language, flags, renamed, sum"
	statColumns     = "codebase, path, dir, size, mtime, ctime, device, inode, mode, racy, flags, language, left_out, xx, content, sum"
	segmentColumns  = "id, files, chunks, bytes, hash, put_at, sum"
	failureColumns  = "codebase, path, content, stage, version, tries, reason, parked, at, sum"
	deadColumns     = "segment, since, ordinals, sum"
	leaseColumns    = "name, holder, token, until, sum"
	storeColumns    = "id, epoch, incarnation, sequence, sum"
)

func (w *columns) codebase(b codebase) {
	w.int(b.key)
	w.text(string(b.ID))
	w.bytes(b.Place)
	w.bytes(b.Root)
	w.bytes(b.Name)
	w.uint(b.Identity.Device)
	w.uint(b.Identity.Inode)
	w.time(b.RegisteredAt)
	w.uint(b.Current)
	w.uint(b.Latest)
	w.bytes(b.Failure)
}

func (r *record) codebase() codebase {
	b := codebase{key: r.int()}
	b.Codebase = store.Codebase{
		ID:           store.CodebaseID(r.text()),
		Place:        r.bytes(),
		Root:         r.bytes(),
		Name:         r.bytes(),
		Identity:     store.RootIdentity{Device: r.uint(), Inode: r.uint()},
		RegisteredAt: r.time(),
		Current:      r.uint(),
		Latest:       r.uint(),
		Failure:      r.bytes(),
	}
	return b
}

func (w *columns) snapshot(key int64, n rules.Snapshot) {
	w.int(key)
	w.uint(n.Number)
	w.uint(n.Parent)
	w.uint(n.Base)
	w.text(string(n.Fingerprint))
	w.hash(n.Root)
	w.uint(uint64(n.Level))
	w.bool(n.Abandoned)
	w.bool(n.Rebuild)
	w.time(n.OpenedAt)
	w.time(n.SealedAt)
	w.int(int64(n.Files))
	w.int(n.Bytes)
	w.int(int64(n.Changed))
	w.bool(n.Pinned)
	w.bytes(n.Ref)
	w.text(list(n.Segments))
}

func (r *record) snapshot(id store.CodebaseID) rules.Snapshot {
	r.at++ // the codebase
	n := rules.Snapshot{Snapshot: store.Snapshot{
		Codebase:    id,
		Number:      r.uint(),
		Parent:      r.uint(),
		Base:        r.uint(),
		Fingerprint: store.Fingerprint(r.text()),
		Root:        r.hash(),
		Level:       store.Level(r.uint()),
		Abandoned:   r.bool(),
		Rebuild:     r.bool(),
		OpenedAt:    r.time(),
		SealedAt:    r.time(),
		Files:       int(r.int()),
		Bytes:       r.int(),
		Changed:     int(r.int()),
		Pinned:      r.bool(),
		Ref:         r.bytes(),
	}}
	for _, sid := range r.list() {
		n.Segments = append(n.Segments, store.SegmentID(sid))
	}
	return n
}

// fileRow is a row of the manifest.
type fileRow struct {
	store.FileEntry
	first, last int64
	// tombstone is set when the row says only that the path ended, for the delta of a
	// snapshot whose base was collected.
	tombstone bool
}

func (w *columns) file(key int64, f fileRow) {
	w.int(key)
	w.bytes(f.Path)
	w.int(f.first)
	w.int(f.last)
	if f.tombstone {
		f.FileEntry = store.FileEntry{Path: f.Path}
		w.null()
	} else {
		w.hash(f.Content)
	}
	w.int(f.Size)
	w.text(f.Language)
	w.uint(uint64(f.Flags))
	w.bytes(f.RenamedFrom)
}

func (r *record) file() (f fileRow) {
	r.at++ // the codebase
	f.Path, f.first, f.last = r.bytes(), r.int(), r.int()
	if f.tombstone = r.isNull(); f.tombstone {
		r.at++
	} else {
		f.Content = r.hash()
	}
	f.Size, f.Language, f.Flags, f.RenamedFrom = r.int(), r.text(), store.FileFlags(r.uint()), r.bytes()
	return f
}

func (w *columns) stat(key int64, e store.StatEntry) {
	w.int(key)
	w.bytes(e.Path)
	w.bool(e.Dir)
	w.int(e.Stat.Size)
	w.int(e.Stat.MtimeNs)
	w.int(e.Stat.CtimeNs)
	w.uint(e.Stat.Device)
	w.uint(e.Stat.Inode)
	w.uint(uint64(e.Stat.Mode))
	w.bool(e.Racy)
	w.uint(uint64(e.Flags))
	w.text(e.Language)
	w.text(string(e.LeftOut))
	w.uint(e.XX)
	if e.Content.IsZero() {
		w.null()
	} else {
		w.hash(e.Content)
	}
}

func (r *record) stat() store.StatEntry {
	r.at++ // the codebase
	e := store.StatEntry{
		Path: r.bytes(),
		Dir:  r.bool(),
		Stat: store.Stat{
			Size: r.int(), MtimeNs: r.int(), CtimeNs: r.int(), Device: r.uint(), Inode: r.uint(), Mode: uint32(r.uint()),
		},
		Racy:     r.bool(),
		Flags:    store.FileFlags(r.uint()),
		Language: r.text(),
		LeftOut:  store.LeftOut(r.text()),
		XX:       r.uint(),
	}
	if !r.isNull() {
		e.Content = r.hash()
	}
	return e
}

func (w *columns) segment(g segment) {
	w.uint(uint64(g.ref.ID))
	w.int(int64(g.ref.Files))
	w.int(int64(g.ref.Chunks))
	w.int(g.ref.Bytes)
	w.uint(g.hash)
	w.int(g.putAt)
}

func (r *record) segment() segment {
	return segment{
		ref:  store.SegmentRef{ID: store.SegmentID(r.uint()), Files: int(r.int()), Chunks: int(r.int()), Bytes: r.int()},
		hash: r.uint(), putAt: r.int(),
	}
}

func (w *columns) failure(key int64, f store.Failure) {
	w.int(key)
	w.bytes(f.Path)
	w.hash(f.Content)
	w.text(string(f.Stage))
	w.text(f.Version)
	w.int(int64(f.Tries))
	w.bytes(f.Reason)
	w.bool(f.Parked)
	w.time(f.At)
}

func (r *record) failure(id store.CodebaseID) store.Failure {
	r.at++ // the codebase
	return store.Failure{
		Codebase: id, Path: r.bytes(), Content: r.hash(), Stage: store.Stage(r.text()), Version: r.text(),
		Tries: int(r.int()), Reason: r.bytes(), Parked: r.bool(), At: r.time(),
	}
}

package sqlitestore

import (
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// How the words of the store are written into rows. Values are sealed under the keys of
// their rows.

func (w *writer) codebase(c store.Codebase) {
	w.string(c.Name)
	w.uint(c.Identity.Device)
	w.uint(c.Identity.Inode)
	w.time(c.RegisteredAt)
	w.uint(c.Current)
	w.uint(c.Latest)
	w.string(c.Failure)
}

func (r *reader) codebase(id, root string) store.Codebase {
	return store.Codebase{
		ID:           store.CodebaseID(id),
		Name:         r.string(),
		Root:         root,
		Identity:     store.RootIdentity{Device: r.uint(), Inode: r.uint()},
		RegisteredAt: r.time(),
		Current:      r.uint(),
		Latest:       r.uint(),
		Failure:      r.string(),
	}
}

func (w *writer) snapshot(n rules.Snapshot) {
	w.uint(n.Parent)
	w.uint(n.Base)
	w.string(string(n.Fingerprint))
	w.hash(n.Root)
	w.uint(uint64(n.Level))
	w.bool(n.Abandoned)
	w.bool(n.Rebuild)
	w.time(n.OpenedAt)
	w.time(n.SealedAt)
	w.uint(uint64(n.Files))
	w.int(n.Bytes)
	w.uint(uint64(n.Changed))
	w.bool(n.Pinned)
	w.string(n.Ref)
	w.uint(uint64(len(n.Segments)))
	for _, id := range n.Segments {
		w.uint(uint64(id))
	}
}

func (r *reader) snapshot(id store.CodebaseID, number uint64) rules.Snapshot {
	n := rules.Snapshot{Snapshot: store.Snapshot{
		Codebase:    id,
		Number:      number,
		Parent:      r.uint(),
		Base:        r.uint(),
		Fingerprint: store.Fingerprint(r.string()),
		Root:        r.hash(),
		Level:       store.Level(r.uint()),
		Abandoned:   r.bool(),
		Rebuild:     r.bool(),
		OpenedAt:    r.time(),
		SealedAt:    r.time(),
		Files:       int(r.uint()),
		Bytes:       r.int(),
		Changed:     int(r.uint()),
		Pinned:      r.bool(),
		Ref:         r.string(),
	}}
	for range min(r.uint(), uint64(len(r.buf))) {
		n.Segments = append(n.Segments, store.SegmentID(r.uint()))
	}
	return n
}

func (w *writer) file(f store.FileEntry) {
	w.hash(f.Content)
	w.int(f.Size)
	w.string(f.Language)
	w.uint(uint64(f.Flags))
	w.string(f.RenamedFrom)
}

func (r *reader) file(path string) store.FileEntry {
	return store.FileEntry{
		Path:        path,
		Content:     r.hash(),
		Size:        r.int(),
		Language:    r.string(),
		Flags:       store.FileFlags(r.uint()),
		RenamedFrom: r.string(),
	}
}

func (w *writer) stat(e store.StatEntry) {
	w.bool(e.Dir)
	w.int(e.Stat.Size)
	w.int(e.Stat.MtimeNs)
	w.int(e.Stat.CtimeNs)
	w.uint(e.Stat.Device)
	w.uint(e.Stat.Inode)
	w.uint(uint64(e.Stat.Mode))
	w.bool(e.Racy)
	w.uint(uint64(e.Flags))
	w.string(e.Language)
	w.string(string(e.LeftOut))
	read := e.XX != 0 || !e.Content.IsZero()
	w.bool(read)
	if read {
		w.uint(e.XX)
		w.hash(e.Content)
	}
}

func (r *reader) stat(path string) store.StatEntry {
	e := store.StatEntry{
		Path: path,
		Dir:  r.bool(),
		Stat: store.Stat{
			Size: r.int(), MtimeNs: r.int(), CtimeNs: r.int(), Device: r.uint(), Inode: r.uint(), Mode: uint32(r.uint()),
		},
		Racy:     r.bool(),
		Flags:    store.FileFlags(r.uint()),
		Language: r.string(),
		LeftOut:  store.LeftOut(r.string()),
	}
	if r.bool() {
		e.XX, e.Content = r.uint(), r.hash()
	}
	return e
}

func (w *writer) failure(f store.Failure) {
	w.uint(uint64(f.Tries))
	w.string(f.Reason)
	w.bool(f.Parked)
	w.time(f.At)
}

func (r *reader) failure(f store.Failure) store.Failure {
	f.Tries, f.Reason, f.Parked, f.At = int(r.uint()), r.string(), r.bool(), r.time()
	return f
}

package canon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// Load reads the syntaxes and vectors from which the segment entries of files are built.
type Load func(ctx context.Context, page []store.FileEntry) ([]segment.File, error)

// CheckSegments compares the retrieval segments of a sealed snapshot with its manifest: each
// file must be live in exactly one segment, with the digest of the store's syntax and vectors,
// and no other file may be live. It calls note for each difference.
func CheckSegments(ctx context.Context, r store.Reader, id store.CodebaseID, number uint64, o Options, load Load, note func(path, what string)) error {
	view, err := r.View(ctx, id, number)
	if err != nil {
		return err
	}
	held := map[string]merkle.Hash{}
	for _, ref := range view.Segments {
		if err := hold(ctx, r, ref, held, note); err != nil {
			return err
		}
	}
	var entries []store.FileEntry
	for entry, err := range r.Manifest(ctx, id, number) {
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	for page := range slices.Chunk(entries, pageFiles) {
		files, err := load(ctx, page)
		if err != nil {
			return err
		}
		for _, f := range files {
			got, ok := held[f.Entry.Path]
			delete(held, f.Entry.Path)
			switch {
			case !ok:
				note(f.Entry.Path, "the segments lack the file")
			case got != segment.EntryDigest(f, o.VectorsByKey):
				note(f.Entry.Path, "the segments hold other chunks, definitions or vectors than the store")
			}
		}
	}
	for path := range held {
		note(path, "the segments hold a file that the manifest lacks")
	}
	return nil
}

// hold notes the live files of one segment.
func hold(ctx context.Context, r store.Reader, ref store.SegmentRef, held map[string]merkle.Hash, note func(path, what string)) (err error) {
	handle, err := r.OpenSegment(ctx, ref.ID)
	if err != nil {
		note("", fmt.Sprintf("segment %d cannot be read: %v", ref.ID, err))
		return nil
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	seg, err := segment.Open(handle.Bytes())
	if err != nil {
		note("", fmt.Sprintf("segment %d cannot be read: %v", ref.ID, err))
		return nil
	}
	for ordinal := range seg.Files() {
		if _, dead := slices.BinarySearch(ref.Dead, uint32(ordinal)); dead {
			continue
		}
		info := seg.File(ordinal)
		if _, twice := held[info.Entry.Path]; twice {
			note(info.Entry.Path, "the segments hold the file twice")
		}
		held[info.Entry.Path] = info.Digest
	}
	return nil
}

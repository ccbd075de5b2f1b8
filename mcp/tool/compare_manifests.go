package tool

import (
	"iter"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// filePair is a file as two snapshots have it; one of the two may be zero.
type filePair struct {
	kind     string // a ManifestChange's, or "" when both have the same content
	old, new store.FileEntry
}

func (p filePair) path() string {
	if p.new.Path != "" {
		return p.new.Path
	}
	return p.old.Path
}

func (p filePair) change() ManifestChange {
	change := ManifestChange{Kind: p.kind, Path: merkle.QuotePath(p.path())}
	if p.kind == merkle.Renamed.String() {
		change.From = merkle.QuotePath(p.old.Path)
	}
	return change
}

// compare merges two manifests, both sorted by path, and lists what differs, sorted by
// path. A removed content that was added elsewhere is a rename. With same, the files that
// do not differ are listed too.
func compare(from, to iter.Seq2[store.FileEntry, error], same bool) ([]filePair, error) {
	nextOld, stopOld := iter.Pull2(from)
	defer stopOld()
	nextNew, stopNew := iter.Pull2(to)
	defer stopNew()
	var added, removed []store.FileEntry
	var pairs []filePair
	older, err, hasOld := nextOld()
	if err != nil {
		return nil, err
	}
	newer, err, hasNew := nextNew()
	if err != nil {
		return nil, err
	}
	for hasOld || hasNew {
		stepOld := hasOld && (!hasNew || older.Path <= newer.Path)
		stepNew := hasNew && (!hasOld || newer.Path <= older.Path)
		switch {
		case stepOld && stepNew:
			if older.Content != newer.Content {
				pairs = append(pairs, filePair{merkle.Modified.String(), older, newer})
			} else if same {
				pairs = append(pairs, filePair{"", older, newer})
			}
		case stepOld:
			removed = append(removed, older)
		default:
			added = append(added, newer)
		}
		if stepOld {
			if older, err, hasOld = nextOld(); err != nil {
				return nil, err
			}
		}
		if stepNew {
			if newer, err, hasNew = nextNew(); err != nil {
				return nil, err
			}
		}
	}
	pairs = append(pairs, moved(added, removed)...)
	slices.SortStableFunc(pairs, func(a, b filePair) int { return strings.Compare(a.path(), b.path()) })
	return pairs, nil
}

// moved pairs added with removed entries of the same content, in order of their paths.
func moved(added, removed []store.FileEntry) []filePair {
	gone := map[merkle.Hash][]store.FileEntry{}
	for _, e := range removed {
		gone[e.Content] = append(gone[e.Content], e)
	}
	var pairs []filePair
	taken := map[string]bool{}
	for _, e := range added {
		pair := filePair{kind: merkle.Added.String(), new: e}
		if from := gone[e.Content]; len(from) > 0 {
			pair.kind, pair.old = merkle.Renamed.String(), from[0]
			taken[from[0].Path] = true
			gone[e.Content] = from[1:]
		}
		pairs = append(pairs, pair)
	}
	for _, e := range removed {
		if !taken[e.Path] {
			pairs = append(pairs, filePair{kind: merkle.Removed.String(), old: e})
		}
	}
	return pairs
}

package event

import (
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// FileOf is a manifest entry as events name it.
func FileOf(e store.FileEntry) File {
	f := File{Path: merkle.QuotePath(e.Path), Content: e.Content, Size: e.Size, Language: e.Language, Flags: e.Flags}
	if e.RenamedFrom != "" {
		f.From = merkle.QuotePath(e.RenamedFrom)
	}
	return f
}

// Entry is the manifest entry that an event names: the reverse of FileOf.
func (f File) Entry() (store.FileEntry, error) {
	e := store.FileEntry{Content: f.Content, Size: f.Size, Language: f.Language, Flags: f.Flags}
	var err error
	if e.Path, err = merkle.UnquotePath(f.Path); err != nil {
		return store.FileEntry{}, fmt.Errorf("path %s: %w", f.Path, err)
	}
	if e.RenamedFrom, err = merkle.UnquotePath(f.From); err != nil {
		return store.FileEntry{}, fmt.Errorf("path %s: %w", f.From, err)
	}
	return e, nil
}

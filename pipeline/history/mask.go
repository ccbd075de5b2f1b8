package history

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// masker covers credentials in a history that leaves the process. A content that holds some
// is recorded with them covered, under the hash that it has then; events and roots name
// that hash, so that the file can be replayed like any other. A file that is a secret by
// its name is covered whole.
type masker struct {
	reader store.Reader
	names  map[maskKey]merkle.Hash // what a content is recorded as, itself when nothing was covered
	texts  map[merkle.Hash][]byte  // of contents in which something was covered
	spans  int
}

// maskKey is a content, at a path that is a secret by its name or not.
type maskKey struct {
	content merkle.Hash
	named   bool
}

// masked returns the events of a history as they are recorded.
func (m *masker) masked(ctx context.Context, events []event.Event) ([]event.Event, error) {
	m.names, m.texts = map[maskKey]merkle.Hash{}, map[merkle.Hash][]byte{}
	out := slices.Clone(events)
	for i, e := range events {
		if e.Changed == nil {
			continue
		}
		files, err := m.files(ctx, e.Changed.Files)
		if err != nil {
			return nil, err
		}
		out[i].Changed = &event.Changed{Files: files}
	}
	if len(m.texts) == 0 {
		return events, nil
	}
	for i, e := range out {
		switch {
		case e.Processed != nil:
			processed := *e.Processed
			var err error
			if processed.Files, err = m.files(ctx, processed.Files); err != nil {
				return nil, err
			}
			out[i].Processed = &processed
		case e.Parked != nil:
			parked := *e.Parked
			var err error
			if parked.Content, err = m.content(ctx, parked.Path, parked.Content); err != nil {
				return nil, err
			}
			out[i].Parked = &parked
		}
	}
	return out, reroot(out)
}

func (m *masker) files(ctx context.Context, files []event.File) ([]event.File, error) {
	out := slices.Clone(files)
	for i, f := range files {
		var err error
		if out[i].Content, err = m.content(ctx, f.Path, f.Content); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// content returns the hash that a content of a path, quoted, is recorded under. One that
// the store does not have keeps its own.
func (m *masker) content(ctx context.Context, quoted string, h merkle.Hash) (merkle.Hash, error) {
	path, err := merkle.UnquotePath(quoted)
	if err != nil {
		return h, err
	}
	key := maskKey{h, secret.Named(path)}
	if name, ok := m.names[key]; ok {
		return name, nil
	}
	data, err := m.reader.Content(ctx, h)
	if errors.Is(err, store.ErrNotFound) || store.IsDamage(err) {
		return h, nil // said where it is recorded
	}
	if err != nil {
		return h, fmt.Errorf("content %s: %w", h.Short(), err)
	}
	text, spans := secret.Mask(data)
	if key.named {
		text = secret.MaskAll(data)
	}
	name := h
	if key.named || len(spans) > 0 {
		name = sha256.Sum256(text)
		m.texts[name] = text
		m.spans += max(1, len(spans))
	}
	m.names[key] = name
	return name, nil
}

// reroot gives each snapshot the root of the files that its events name now.
func reroot(events []event.Event) error {
	steps, err := Fold(events)
	if err != nil {
		return err
	}
	roots := map[stepKey]merkle.Hash{}
	manifest, of := map[string]merkle.Hash{}, store.CodebaseID("")
	for _, step := range steps {
		if step.Codebase != of || step.Opened.Rebuild {
			manifest, of = map[string]merkle.Hash{}, step.Codebase
		}
		for _, path := range step.Removed {
			delete(manifest, path)
		}
		for _, entry := range step.Changed {
			manifest[entry.Path] = entry.Content
		}
		tree, err := merkle.Build(func(yield func(string, merkle.Leaf) bool) {
			for path, content := range maps.All(manifest) {
				if !yield(path, merkle.Leaf{Content: content}) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		roots[stepKey{step.Codebase, step.Snapshot}] = tree.Root()
	}
	for i, e := range events {
		root, ok := roots[stepKey{e.Codebase, e.Snapshot}]
		switch {
		case !ok:
		case e.Opened != nil:
			opened := *e.Opened
			opened.Root = root
			events[i].Opened = &opened
		case e.Sealed != nil:
			sealed := *e.Sealed
			sealed.Root = root
			events[i].Sealed = &sealed
		}
	}
	return nil
}

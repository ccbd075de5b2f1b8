package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// disk reads files of registered roots: the bytes come from the descriptors that package
// scan judged, and what is a secret by name is refused before anything else is asked.
type disk struct{ *Host }

// Compare says whether the file at path has the content now.
func (d disk) Compare(ctx context.Context, c store.Codebase, path string, content merkle.Hash) (tool.DiskState, error) {
	if !d.here(c) {
		answer, err := d.putSoon(ctx, c.ID, question{Ask: askCompare, Path: merkle.QuotePath(path), Content: content})
		if errors.Is(err, natsbus.ErrNoAnswer) {
			return tool.DiskUnseen, nil
		}
		return answer.State, err
	}
	var now merkle.Hash
	err := d.scanned(ctx, c, func(s *scan.Scanner) (err error) {
		now, err = s.Digest(path)
		return err
	})
	switch {
	case errors.Is(err, scan.ErrMissing), errors.Is(err, scan.ErrRootVanished):
		return tool.DiskGone, nil
	case errors.Is(err, scan.ErrRootReplaced), errors.Is(err, scan.ErrRootUnreadable):
		return tool.DiskChanged, nil // the verdict says what stands in the way
	case err != nil: // of one file: the verdict names what cannot be read
		d.opts.Log.Info("file not compared", "path", merkle.QuotePath(path), "error", err)
		return tool.DiskChanged, ctx.Err()
	case now.IsZero() || now != content:
		return tool.DiskChanged, nil
	}
	return tool.DiskSame, nil
}

// Live reads a file now. One that is not shown has the reason and no bytes.
func (d disk) Live(ctx context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	if secret.Named(path) { // here as well: who is asked may be of an older version
		return tool.LiveFile{LeftOut: store.LeftOutSecret}, nil
	}
	if !d.here(c) {
		return d.remoteLive(ctx, c, path)
	}
	var explanation scan.Explanation
	var data []byte
	err := d.scanned(ctx, c, func(s *scan.Scanner) (err error) {
		explanation, data, err = s.Read(path)
		return err
	})
	if err != nil {
		return tool.LiveFile{}, explainError(path, err)
	}
	file := tool.LiveFile{LeftOut: explanation.LeftOut, Language: explanation.Language}
	if data != nil {
		file.Data, file.Hash = data, sha256.Sum256(data)
	}
	return file, nil
}

// scanned calls look with a scanner of the directory that is registered. When another one
// stands at the root, it asks the store once whether that was taken for the codebase's.
func (d disk) scanned(ctx context.Context, c store.Codebase, look func(*scan.Scanner) error) error {
	for again := false; ; again = true {
		err := look(scan.New(c.Root, d.scanning(c)))
		if again || !errors.Is(err, scan.ErrRootReplaced) {
			return err
		}
		known, lookup := d.reads.Codebase(ctx, c.ID)
		if lookup != nil || known.Identity == c.Identity {
			return err
		}
		c = known
	}
}

// Reread returns what the file at a path holds now, if the store may hold it and it has the
// hash.
func (d disk) Reread(ctx context.Context, id store.CodebaseID, path string, h merkle.Hash) ([]byte, error) {
	codebase, err := d.store.Codebase(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read %s again: %w", merkle.QuotePath(path), err)
	}
	file, err := d.Live(ctx, codebase, path)
	switch {
	case err != nil:
		return nil, err
	case file.LeftOut != "":
		return nil, fmt.Errorf("the file is left out now: %s", file.LeftOut)
	case file.Hash != h:
		return nil, errors.New("the file has changed")
	}
	return file.Data, nil
}

// remoteLive has a file read by who sees it.
func (d disk) remoteLive(ctx context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	answer, err := d.putSoon(ctx, c.ID, question{Ask: askLive, Path: merkle.QuotePath(path)})
	switch {
	case errors.Is(err, natsbus.ErrNoAnswer):
		return tool.LiveFile{}, tool.Errorf(tool.CodeStoreUnavailable, "the files of %s are on %s, which does not answer", c.Name, c.Place)
	case err != nil:
		return tool.LiveFile{}, err
	case answer.File == nil:
		return tool.LiveFile{}, fmt.Errorf("read %s on %s: no file in the answer", merkle.QuotePath(path), c.Place)
	}
	return *answer.File, nil
}

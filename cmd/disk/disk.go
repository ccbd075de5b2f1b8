// Package disk reads files of registered roots as they are now, for answers that quote or
// compare them: the bytes come from the descriptors that package scan judged, and what is a
// secret by name is refused before anything else is asked. Files of another place are asked
// for from the process there that synchronizes the codebase.
package disk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// Options of Files. All are required, Ask only where codebases of other places are known.
type Options struct {
	// Codebase looks a codebase up.
	Codebase func(ctx context.Context, id store.CodebaseID) (store.Codebase, error)
	// Here reports whether this process sees the tree of a codebase.
	Here func(store.Codebase) bool
	// Scan are the options of a scan of the directory that is registered of a codebase.
	Scan func(store.Codebase) scan.Options
	// Ask has a question answered by whoever synchronizes a codebase; see freshness.Peers.
	Ask func(ctx context.Context, id store.CodebaseID, request []byte) ([]byte, error)
	Log *slog.Logger
}

// Files are the files of registered roots. All methods may be called from several goroutines.
type Files struct {
	opts Options

	mu     sync.Mutex                     // guards silent
	silent map[store.CodebaseID]time.Time // when who synchronizes a codebase did not answer
}

// New returns the files that the options say how to reach.
func New(o Options) *Files { return &Files{opts: o, silent: map[store.CodebaseID]time.Time{}} }

// Compare says whether the file at path has the content now.
func (f *Files) Compare(ctx context.Context, c store.Codebase, path string, content merkle.Hash) (tool.DiskState, error) {
	if !f.opts.Here(c) {
		return f.remoteCompare(ctx, c, path, content)
	}
	var now merkle.Hash
	err := f.scanned(ctx, c, func(s *scan.Scanner) (err error) {
		now, err = s.Digest(path)
		return err
	})
	switch {
	case errors.Is(err, scan.ErrMissing), errors.Is(err, scan.ErrRootVanished):
		return tool.DiskGone, nil
	case errors.Is(err, scan.ErrRootReplaced), errors.Is(err, scan.ErrRootUnreadable):
		return tool.DiskChanged, nil // the verdict says what stands in the way
	case err != nil: // of one file: the verdict names what cannot be read
		f.opts.Log.Info("file not compared", "path", merkle.QuotePath(path), "error", err)
		return tool.DiskChanged, ctx.Err()
	case now.IsZero() || now != content:
		return tool.DiskChanged, nil
	}
	return tool.DiskSame, nil
}

// Live reads a file now. One that is not shown has the reason and no bytes.
func (f *Files) Live(ctx context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	if secret.Named(path) { // here as well: who is asked may be of an older version
		return tool.LiveFile{LeftOut: store.LeftOutSecret}, nil
	}
	if !f.opts.Here(c) {
		return f.remoteLive(ctx, c, path)
	}
	var explanation scan.Explanation
	var data []byte
	err := f.scanned(ctx, c, func(s *scan.Scanner) (err error) {
		explanation, data, err = s.Read(path)
		return err
	})
	if err != nil {
		return tool.LiveFile{}, advice.Path(path, err)
	}
	file := tool.LiveFile{LeftOut: explanation.LeftOut, Language: explanation.Language}
	if data != nil {
		file.Data, file.Hash = data, sha256.Sum256(data)
	}
	return file, nil
}

// Reread returns what the file at a path holds now, if the store may hold it and it has the
// hash.
func (f *Files) Reread(ctx context.Context, id store.CodebaseID, path string, h merkle.Hash) ([]byte, error) {
	codebase, err := f.opts.Codebase(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read %s again: %w", merkle.QuotePath(path), err)
	}
	file, err := f.Live(ctx, codebase, path)
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

// scanned calls look with a scanner of the directory that is registered. When another one
// stands at the root, it asks the store once whether that was taken for the codebase's.
func (f *Files) scanned(ctx context.Context, c store.Codebase, look func(*scan.Scanner) error) error {
	for again := false; ; again = true {
		err := look(scan.New(c.Root, f.opts.Scan(c)))
		if again || !errors.Is(err, scan.ErrRootReplaced) {
			return err
		}
		known, lookup := f.opts.Codebase(ctx, c.ID)
		if lookup != nil || known.Identity == c.Identity {
			return err
		}
		c = known
	}
}

// remoteCompare has a file compared by who sees it.
func (f *Files) remoteCompare(ctx context.Context, c store.Codebase, path string, content merkle.Hash) (tool.DiskState, error) {
	answer, err := f.ask(ctx, c.ID, question{Ask: askCompare, Path: merkle.QuotePath(path), Content: content})
	if errors.Is(err, bus.ErrNoAnswer) {
		return tool.DiskUnseen, nil
	}
	return answer.State, err
}

// remoteLive has a file read by who sees it.
func (f *Files) remoteLive(ctx context.Context, c store.Codebase, path string) (tool.LiveFile, error) {
	answer, err := f.ask(ctx, c.ID, question{Ask: askLive, Path: merkle.QuotePath(path)})
	switch {
	case errors.Is(err, bus.ErrNoAnswer):
		return tool.LiveFile{}, tool.Errorf(tool.CodeStoreUnavailable, "the files of %s are on %s, which does not answer", c.Name, c.Place)
	case err != nil:
		return tool.LiveFile{}, err
	case answer.File == nil:
		return tool.LiveFile{}, fmt.Errorf("read %s on %s: no file in the answer", merkle.QuotePath(path), c.Place)
	}
	return *answer.File, nil
}

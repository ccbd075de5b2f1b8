// Package canon writes the canonical export of an index: its contents as sorted lines, and
// their digest. The same tree under the same recipe gives the same lines, whatever the order
// of events, the repeats, the crashes and the number of workers, so that equal digests prove
// equal indexes.
package canon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// Options of an export.
type Options struct {
	// Recipe is that of the snapshot.
	Recipe store.Recipe
	// VectorsByKey writes that a vector exists instead of what it is: for providers that do
	// not give the same bits twice.
	VectorsByKey bool
}

// pageFiles is how many files are read from the store at once.
const pageFiles = 256

// Export calls emit with each line of a snapshot, without its line end, in byte order, and
// returns the SHA-256 of all lines, each with its line end, in hexadecimal digits. emit may
// be nil. Lines are fields separated by tabs: the quoted path, what the line speaks of
// (file, chunk, define, refer), and its facts.
func Export(ctx context.Context, r store.Reader, id store.CodebaseID, number uint64, o Options, emit func(line string) error) (digest string, lines int, err error) {
	var entries []store.FileEntry
	for entry, err := range r.Manifest(ctx, id, number) {
		if err != nil {
			return "", 0, fmt.Errorf("read manifest: %w", err)
		}
		entries = append(entries, entry)
	}
	keys := make(map[string]string, len(entries))
	for _, e := range entries {
		keys[e.Path] = merkle.QuotePath(e.Path) + "\t"
	}
	slices.SortFunc(entries, func(a, b store.FileEntry) int { return strings.Compare(keys[a.Path], keys[b.Path]) })
	w := writer{hash: sha256.New(), emit: emit}
	for page := range slices.Chunk(entries, pageFiles) {
		if err := w.page(ctx, r, o, page); err != nil {
			return "", 0, err
		}
	}
	return hex.EncodeToString(w.hash.Sum(nil)), w.lines, nil
}

type writer struct {
	hash  hash.Hash
	emit  func(line string) error
	lines int
}

func (w *writer) page(ctx context.Context, r store.Reader, o Options, page []store.FileEntry) error {
	keys := make([]store.SyntaxKey, len(page))
	for i, e := range page {
		keys[i] = store.SyntaxKey{Content: e.Content, Version: o.Recipe.SyntaxVersion(e.Language)}
	}
	syntaxes, err := r.Syntax(ctx, keys)
	if err != nil {
		return fmt.Errorf("read syntax: %w", err)
	}
	var texts []merkle.Hash
	for _, s := range syntaxes {
		for _, c := range s.Chunks {
			texts = append(texts, c.TextHash)
		}
	}
	vectors, err := r.Vectors(ctx, o.Recipe.Embedding.Key(), texts)
	if err != nil {
		return fmt.Errorf("read vectors: %w", err)
	}
	for i, e := range page {
		syntax, ok := syntaxes[keys[i]]
		lines := fileLines(e, syntax, ok, vectors, o.VectorsByKey)
		for _, line := range lines {
			w.lines++
			w.hash.Write([]byte(line))
			w.hash.Write([]byte{'\n'})
			if w.emit == nil {
				continue
			}
			if err := w.emit(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileLines writes the lines of one file in byte order.
func fileLines(e store.FileEntry, s store.Syntax, cut bool, vectors map[merkle.Hash]store.Vector, byKey bool) []string {
	path := merkle.QuotePath(e.Path)
	how := string(s.Cut)
	if !cut {
		how = "none"
	}
	lines := []string{fmt.Sprintf("%s\tfile\t%s\t%d\t%s\t%d\t%s", path, e.Content, e.Size, field(e.Language), e.Flags, how)}
	for i, c := range s.Chunks {
		lines = append(lines, fmt.Sprintf("%s\tchunk\t%06d\t%d-%d\t%d-%d\t%s\t%s\t%s",
			path, i, c.Start, c.End, c.StartLine, c.EndLine, c.TextHash, vectorField(vectors, c.TextHash, byKey), field(c.Breadcrumb)))
	}
	for i, d := range s.Definitions {
		lines = append(lines, fmt.Sprintf("%s\tdefine\t%06d\t%s\t%s\t%d-%d\t%d-%d\t%d\t%s\t%s",
			path, i, d.Kind, field(d.Name), d.Start, d.End, d.StartLine, d.EndLine, d.Parent, field(d.Signature), field(d.Doc)))
	}
	for i, r := range s.References {
		lines = append(lines, fmt.Sprintf("%s\trefer\t%06d\t%s\t%s\t%d\t%d", path, i, r.Kind, field(r.Name), r.Line, r.From))
	}
	slices.Sort(lines)
	return lines
}

func vectorField(vectors map[merkle.Hash]store.Vector, h merkle.Hash, byKey bool) string {
	v, ok := vectors[h]
	if !ok {
		return "-"
	}
	if byKey {
		return "+"
	}
	sum := sha256.New()
	var scale [4]byte
	binary.LittleEndian.PutUint32(scale[:], math.Float32bits(v.Scale))
	sum.Write(scale[:])
	data := make([]byte, len(v.Data))
	for i, x := range v.Data {
		data[i] = byte(x)
	}
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// field quotes text so that it has neither tabs nor line ends, and is "-" when empty. What
// has the form of a credential is covered: lines leave the process.
func field(text string) string {
	if text == "" {
		return "-"
	}
	text, _ = secret.MaskText(text)
	return merkle.QuotePath(text)
}

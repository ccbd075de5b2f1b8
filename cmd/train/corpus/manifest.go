package corpus

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// The kinds of source.
const (
	Go     = "go"     // the source of the Go distribution that runs the trainer
	Module = "gomod"  // a Go module
	NPM    = "npm"    // a package of npm
	Debian = "debian" // a source package of Debian
)

// Source is a line of the manifest.
type Source struct {
	Kind, Name, Version string
	// Licence is the SPDX expression, or what the packager calls it.
	Licence string
	// Digest is that of the archives: the package's sha512 integrity for npm, else a sha256,
	// of the names and sums of the files where there are several.
	Digest string
}

// String is the name under which pairs of the source are kept.
func (s Source) String() string { return s.Kind + "/" + s.Name }

// Line is the source as a line of the manifest.
func (s Source) Line() string {
	return strings.Join([]string{s.Kind, s.Name, s.Version, strings.ReplaceAll(s.Licence, " ", "_"), s.Digest}, " ")
}

// Manifest is the sources of a corpus and the files of them that are left out.
type Manifest struct {
	Sources []Source
	// Without names files that are near copies of what must stay out, by source.
	Without map[string][]string
	// Digest is the sha256 of the manifest's file.
	Digest string
}

// ReadManifest reads a manifest: a source a line, or "without SOURCE PATH"; empty lines and
// those that begin with # say nothing. Sources come in the order of kind and name, whatever
// their order in the file.
func ReadManifest(path string) (*Manifest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	m, err := ParseManifest(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", path, err)
	}
	sum := sha256.Sum256(data)
	m.Digest = hex.EncodeToString(sum[:])
	return m, nil
}

// ParseManifest is ReadManifest of a text, without its digest.
func ParseManifest(r io.Reader) (*Manifest, error) {
	m := &Manifest{Without: map[string][]string{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "without" && len(fields) >= 3:
			name := strings.Join(fields[2:], " ")
			m.Without[fields[1]] = append(m.Without[fields[1]], name)
		case len(fields) == 5 && slices.Contains([]string{Go, Module, NPM, Debian}, fields[0]):
			m.Sources = append(m.Sources, Source{Kind: fields[0], Name: fields[1], Version: fields[2],
				Licence: strings.ReplaceAll(fields[3], "_", " "), Digest: fields[4]})
		default:
			return nil, fmt.Errorf("line %d is neither a source nor a path left out", n)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(m.Sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for i := 1; i < len(m.Sources); i++ {
		if m.Sources[i].String() == m.Sources[i-1].String() {
			return nil, fmt.Errorf("%s stands there twice", m.Sources[i])
		}
	}
	return m, nil
}

// ErrGone is wrapped by the errors of sources that can no longer be had at their version.
var ErrGone = errors.New("source cannot be had")

// ErrAltered is wrapped by the errors of sources that are not what the manifest says.
var ErrAltered = errors.New("source is not what the manifest says")

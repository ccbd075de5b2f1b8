package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/freshet/freshet/cmd/train/corpus"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

// write writes the table, its card and the notice of its sources, and prints the card.
func write(s *settings, m *corpus.Manifest, data []byte, c builtin.Card) error {
	sum := sha256.Sum256(data)
	c.Artifact, c.Corpus = hex.EncodeToString(sum[:]), m.Digest
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return fmt.Errorf("write card: %w", err)
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return fmt.Errorf("write artifact: %w", err)
	}
	for name, content := range map[string][]byte{
		"table.bin": data, "card.json": append(text, '\n'), "NOTICE.txt": []byte(notice(m)),
	} {
		if err := os.WriteFile(filepath.Join(s.out, name), content, 0o644); err != nil {
			return fmt.Errorf("write artifact: %w", err)
		}
	}
	fmt.Printf("%s\n", text)
	return nil
}

// notice names the sources of a model and their licences.
func notice(m *corpus.Manifest) string {
	var b strings.Builder
	fmt.Fprintf(&b, `The table beside this file was trained on the comments, names and code of the packages
below. It holds single words and numbers and no text of theirs. Each is used under its own
permissive licence, whose text its package carries.

Corpus manifest: sha256 %s

`, m.Digest)
	for _, source := range m.Sources {
		fmt.Fprintf(&b, "%s %s (%s)\n", source, source.Version, source.Licence)
	}
	return b.String()
}

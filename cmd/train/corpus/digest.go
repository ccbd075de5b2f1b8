package corpus

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Digest computes the digest of a fetched source from its bytes.
func (c *Cache) Digest(ctx context.Context, s Source) (string, error) {
	archives, err := c.archives(s)
	if err != nil {
		return "", err
	}
	switch s.Kind {
	case Go:
		return folderDigest(archives[0])
	case NPM:
		data, err := os.ReadFile(archives[0])
		if err != nil {
			return "", err
		}
		sum := sha512.Sum512(data)
		return "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), nil
	case Module:
		sum, err := fileSum(archives[0])
		return "sha256:" + sum, err
	}
	h := sha256.New() // of the upstream archives: packagings change more often than they
	for _, archive := range archives {
		sum, err := fileSum(archive)
		if err != nil {
			return "", err
		}
		h.Write(fmt.Appendf(nil, "%s  %s\n", sum, filepath.Base(archive)))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// folderDigest digests the Go files of the distribution by path and content.
func folderDigest(root string) (string, error) {
	h := sha256.New()
	err := walkFolder(root, Visit{
		Wants: func(name string, _ int64) bool { return strings.HasSuffix(name, ".go") },
		File: func(name string, data []byte) error {
			h.Write(fmt.Appendf(nil, "%s\x00%x\n", name, sha256.Sum256(data)))
			return nil
		},
	})
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}

// downloadModule lets the go command fetch a module, which it checks against the checksum
// database, and copies the archive.
func (c *Cache) downloadModule(ctx context.Context, s Source, dir string) error {
	out, err := output(ctx, dir, "go", "mod", "download", "-json", s.Name+"@"+s.Version)
	if err != nil {
		return err
	}
	var answer struct{ Zip, Error string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return err
	}
	if answer.Error != "" || answer.Zip == "" {
		return fmt.Errorf("go mod download: %s", answer.Error)
	}
	data, err := os.ReadFile(answer.Zip)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "source.zip"), data, 0o644)
}

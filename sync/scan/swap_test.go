package scan

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/sync/merkle"
)

// While another goroutine swaps the root, directories and files for links to a secret and to
// files outside, and back again, no scan hands out a byte of them and no digest is theirs.
func TestScanAndDigestReadNoSecretUnderASwapRace(t *testing.T) {
	t.Parallel()
	w, outside := readTree(t)
	links := t.TempDir()
	var pairs [][2]string
	for i, target := range [][2]string{
		{w.root, outside}, {w.path("dir"), filepath.Join(outside, "dir")}, {w.path("dir/f.go"), w.path(".env")},
		{w.path("f.go"), ".env"}, {w.path("dir/config"), "../.git/config"}, {w.path("dir/sub"), outside},
	} {
		link := filepath.Join(links, string(rune('a'+i)))
		w.must(os.Symlink(target[1], link))
		pairs = append(pairs, [2]string{target[0], link})
	}
	stop, done, swapped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if pair := pairs[i%len(pairs)]; swap(pair[0], pair[1]) == nil {
				_ = swap(pair[0], pair[1])
			}
			if i == len(pairs) {
				close(swapped)
			}
		}
	}()
	<-swapped
	secrets := map[merkle.Hash]bool{}
	for _, text := range []string{"KEY=OUTSIDE\n", "package OUTSIDE\n", "OUTSIDE of the tree\n"} {
		secrets[sha256.Sum256([]byte(text))] = true
	}
	for i := range 1_000 {
		_, _ = w.scanner.Scan(context.Background(), nil, w) // an error says that the root is a link
		path := []string{"f.go", "dir/f.go", "dir/sub/f.go", "dir/config", ".env"}[i%5]
		if hash, _ := w.scanner.Digest(path); secrets[hash] {
			t.Errorf("%s: the digest is that of a secret", path)
		}
	}
	close(stop)
	<-done
	_, err := w.scanner.Scan(context.Background(), nil, w) // everything lies where it belongs
	w.must(err)
	inside := 0
	for hash, text := range w.contents {
		if strings.Contains(text, "OUTSIDE") {
			t.Errorf("a scan read %v: %q", hash, text)
		}
		inside++
	}
	if inside == 0 {
		t.Fatal("the tree itself is not read")
	}
}

package checksum_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
)

// A blob is what was written under its table and key, and corrupt with any bit flipped, cut
// short, or anywhere else.
func TestCutFindsWhatChanged(t *testing.T) {
	t.Parallel()
	value, key := []byte("value"), []byte("key")
	body := checksum.Append(bytes.Clone(value), "table", key, nil)
	if got, err := checksum.Cut(body, "table", key, nil); err != nil || !bytes.Equal(got, value) {
		t.Fatalf("got %q, %v", got, err)
	}
	corrupt := func(what string, body []byte, table string, key ...[]byte) {
		t.Helper()
		if _, err := checksum.Cut(body, table, key...); !errors.Is(err, store.ErrCorrupt) || !errors.Is(err, store.ErrChecksum) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	for bit := range 8 * len(body) {
		flipped := bytes.Clone(body)
		flipped[bit/8] ^= 1 << (bit % 8)
		corrupt("a flipped bit", flipped, "table", key, nil)
	}
	for n := range body {
		corrupt("cut short", body[:n], "table", key, nil)
	}
	corrupt("another table", body, "tables", key, nil)
	corrupt("another key", body, "table", []byte("kez"), nil)
	corrupt("a key divided otherwise", body, "table", nil, key)
}

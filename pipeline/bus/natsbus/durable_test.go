//go:build linux && (amd64 || arm64)

package natsbus

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest/fsyncs"
)

// TestKeysAreDurableByNameBeforeTheyAreUsed: the file of the keys is synced, then its
// directory once the file has its name there; a key that a crash could take is not used.
func TestKeysAreDurableByNameBeforeTheyAreUsed(t *testing.T) {
	id := store.CodebaseID("ckeyed")
	for failing, want := range map[string][]string{"": {"bytes", "name"}, "bytes": {"bytes"}, "name": {"bytes", "name"}} {
		dir := t.TempDir()
		keys, err := openKeyring(dir)
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		err = fsyncs.Watch(t, func() error {
			return keys.replace(func(all map[store.CodebaseID][]byte) { all[id] = []byte("key") })
		}, func(path string) syscall.Errno {
			step := "bytes"
			if path == dir {
				step = "name"
			}
			if _, err := os.Stat(filepath.Join(dir, keysName)); (err == nil) != (step == "name") {
				t.Errorf("the %s are synced when the file is %v", step, err)
			}
			if steps = append(steps, step); step == failing {
				return syscall.EIO
			}
			return 0
		})
		if !slices.Equal(steps, want) || errors.Is(err, syscall.EIO) != (failing != "") || (len(keys.keys) == 1) != (failing == "") {
			t.Errorf("%q fails: synced were %v, %d keys are in use: %v", failing, steps, len(keys.keys), err)
		}
	}
}

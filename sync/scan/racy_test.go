package scan

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that is written after a scan began never has a time from before it.
func TestFileClockNeverRunsAheadOfTheKernels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for range 2000 {
		began := fileClock().UnixNano()
		if err := os.WriteFile(path, []byte("written"), 0o600); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		if st.Ctim.Nano() < began || st.Mtim.Nano() < began {
			t.Fatalf("written at %d (mtime %d), before the scan that began at %d", st.Ctim.Nano(), st.Mtim.Nano(), began)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

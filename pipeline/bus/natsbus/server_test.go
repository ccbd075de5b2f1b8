package natsbus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServerSyncsAndListensOnNothing reads both back. It runs by itself: servers of other
// tests do listen.
func TestServerSyncsAndListensOnNothing(t *testing.T) {
	b, err := Open(t.Context(), Options{Dir: t.TempDir()})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	if !b.embedded.srv.JetStreamConfig().SyncAlways {
		t.Error("writes are not synced")
	}
	if a := b.embedded.srv.Addr(); a != nil {
		t.Errorf("listens on %s", a)
	}
	if a := b.embedded.srv.MonitorAddr(); a != nil {
		t.Errorf("monitor listens on %s", a)
	}
	for _, name := range []string{"tcp", "tcp6", "unix"} {
		for _, inode := range listening(t, name) {
			if ours(t, inode) {
				t.Errorf("this process listens on a %s socket", name)
			}
		}
	}
}

// listening gives the inodes of the sockets that listen.
func listening(t *testing.T, family string) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/net/" + family)
	if err != nil {
		t.Skipf("no socket table: %v", err)
	}
	var inodes []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch {
		case family == "unix" && len(fields) > 6 && fields[3] == "00010000":
			inodes = append(inodes, fields[6])
		case family != "unix" && len(fields) > 9 && fields[3] == "0A":
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}

func ours(t *testing.T, inode string) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}

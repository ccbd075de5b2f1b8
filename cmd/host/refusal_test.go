package host

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// A client of another protocol is told which versions meet, and its call is not made.
func TestOtherProtocolIsRefused(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "h")
	connect(t, home)
	conn, err := net.Dial("unix", socketPath(home))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := json.NewEncoder(conn).Encode(request{Protocol: protocol + 1, Version: "v9", Verb: "status"}); err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Envelope != nil || !strings.Contains(r.Refused, "freshet test") || !strings.Contains(r.Refused, "v9") {
		t.Errorf("reply %+v", r)
	}
}

package socket

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// A client of another protocol is told which versions meet, and its call is not made.
func TestOtherProtocolIsRefused(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	server, err := Listen(t.Context(), home, "test", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(t.Context()) }()
	defer func() {
		if err := errors.Join(server.Close(), <-served); err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("unix", Path(home))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := json.NewEncoder(conn).Encode(request{Protocol: Protocol + 1, Version: "v9", Verb: "status"}); err != nil {
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

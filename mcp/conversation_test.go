package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the server says in testdata")

// TestConversations replays what clients say to a server over a world in memory, and
// compares what it answers. Each file of an archive is a conversation with a server of its
// own, one message a line:
//
//	C: MESSAGE    the client says it; what it asks is answered before the next line
//	c: MESSAGE    the client says it and does not wait
//	C: pad N      the client says a line of N bytes
//	S: MESSAGE    the server says it
//
// What the tools answer stands there by its name in «»: package tool owns it. That it is
// sent exactly as it is rendered is part of the comparison.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, conversation := range archive.Files {
				got := replay(t, string(conversation.Data))
				if *update {
					archive.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(conversation.Data), got); diff != "" {
					t.Errorf("%s: -want +got\n%s", conversation.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// replay holds a conversation and returns it as it went.
func replay(t *testing.T, script string) string {
	t.Helper()
	caller := indexed(t)
	server := newServer(t, caller, Options{Dir: root, MaxLine: 4096})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := server.ServeStdio(t.Context(), in, out)
		_ = out.Close()
		served <- err
	}()
	reader := bufio.NewReader(fromServer)
	var went strings.Builder
	say := func(line string) {
		if n, ok := strings.CutPrefix(line, "pad "); ok {
			size, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			line = strings.Repeat("x", size)
		}
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "S: ") {
			continue
		}
		went.WriteString(line + "\n")
		said, wait := strings.CutPrefix(line, "C: ")
		if aside, ok := strings.CutPrefix(line, "c: "); ok {
			said, wait = aside, false
			if strings.Contains(aside, `"block"`) {
				defer func() { <-caller.ended }()
			}
		}
		if said == line {
			continue // a remark
		}
		say(said)
		if strings.Contains(said, `"block"`) {
			<-caller.blocked
		}
		if wait {
			hear(t, reader, said, &went)
		}
	}
	_ = toServer.Close()
	rest, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(rest) {
		went.WriteString("S: " + string(line))
	}
	if err := <-served; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	return strings.ReplaceAll(caller.texts.shorten(went.String()), quote(Instructions()), quote("«instructions»"))
}

// hear reads until what was said is answered. A notification is not; what is no message is
// answered once.
func hear(t *testing.T, reader *bufio.Reader, said string, went *strings.Builder) {
	t.Helper()
	var request struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	sound := json.Unmarshal([]byte(said), &request) == nil
	if sound && request.ID == nil && request.Method != "" {
		return
	}
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatalf("after %.200s: %v", said, err)
		}
		went.WriteString("S: " + line)
		var answer struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("the server said %q: %v", line, err)
		}
		if answer.Method == "" {
			return
		}
	}
}

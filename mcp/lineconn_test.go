package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestReadLine compares the reader of lines with splitting the whole input.
func TestReadLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 30
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,60}`)).Draw(t, "lines")
		input := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		var got []string
		reader := bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(input)), 16)
		for {
			line, err := readLine(reader, limit)
			if errors.Is(err, errLineTooLong) {
				line, err = []byte("too long"), nil
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		var want []string
		for i, line := range strings.Split(input, "\n") {
			whole := line
			if i < len(lines)-1 {
				whole += "\n"
			}
			switch {
			case whole == "":
				continue
			case len(whole) > limit+1:
				line = "too long"
			}
			want = append(want, strings.TrimRight(line, "\r"))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("read %q of %q, want %q", got, input, want)
		}
	})
}

// FuzzCheckMessage compares the check with the decoder of the standard library: what it
// takes is JSON, and what means the same is taken too.
func FuzzCheckMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1}`, `{"a":1,"a":2}`, `[{"a":[{"b":null}]}]`, `{"a\u0000":1}`, "{\"a\":\"\xff\"}", `{} {}`, ``, `[1,]`,
		`{"\u0061":1,"a":2}`, strings.Repeat("[", 65) + strings.Repeat("]", 65),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkMessage(data) != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is taken and is not JSON", data)
		}
		var value any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if checkMessage(encoded) != nil {
			t.Errorf("%q is taken, and %q, which means the same, is not", data, encoded)
		}
	})
}

// FuzzServer has a server read anything: it writes lines of the protocol only, and ends
// with its input.
func FuzzServer(f *testing.F) {
	f.Add([]byte("garbage\n{}\n[]\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_codebase","arguments":{"query":"x"}}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		server := newServer(t, failing{errors.New("no index")}, Options{MaxLine: 1 << 16})
		var out safeBuffer
		_ = server.ServeStdio(t.Context(), bytes.NewReader(data), &out) // how it ends is the input's doing
		for line := range bytes.Lines(out.bytes()) {
			var message struct {
				JSONRPC string `json:"jsonrpc"`
			}
			if err := json.Unmarshal(line, &message); err != nil || message.JSONRPC != "2.0" {
				t.Fatalf("the server wrote %q after %q", line, data)
			}
		}
	})
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *safeBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buffer.Bytes())
}

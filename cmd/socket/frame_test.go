package socket

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzReadFrame reads whatever a process sends to the socket.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte(`{"protocol":1,"verb":"status"}` + "\n"))
	f.Add([]byte("no line end"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		var all []byte
		for {
			frame, err := readFrame(r, nil)
			all = append(all, frame...)
			if err == nil {
				continue
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("error %v", err)
			}
			break
		}
		if end := bytes.LastIndexByte(data, '\n') + 1; !bytes.Equal(all, data[:end]) {
			t.Errorf("read %q of %q", all, data)
		}
	})
}

func TestReadFrameRefusesTheOversized(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader("{"), zeros{})
	if _, err := readFrame(bufio.NewReader(endless), nil); !errors.Is(err, errFrameTooLarge) {
		t.Errorf("error %v, want errFrameTooLarge", err)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

package history

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/sync/merkle"
)

// formatVersion is the version of history files.
const formatVersion = 1

// maxLine bounds a line: a content of 1 MiB, escaped.
const maxLine = 16 << 20

// line is one line of a history file.
type line struct {
	Version int             `json:"freshet_history,omitempty"`
	Content *merkle.Hash    `json:"content,omitempty"`
	Text    *string         `json:"text,omitempty"`
	Base64  []byte          `json:"base64,omitempty"`
	Event   json.RawMessage `json:"event,omitempty"`
}

// Writer writes a history file.
type Writer struct {
	out  *bufio.Writer
	seen map[merkle.Hash]bool
	// Events and Contents count what was written.
	Events, Contents int
	// Masked counts the credentials that Record covered.
	Masked int
}

// NewWriter writes the head of a history to w.
func NewWriter(w io.Writer) (*Writer, error) {
	out := &Writer{out: bufio.NewWriter(w), seen: map[merkle.Hash]bool{}}
	return out, out.line(line{Version: formatVersion})
}

func (w *Writer) line(l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode history line: %w", err)
	}
	if _, err := w.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// Event writes an event.
func (w *Writer) Event(e event.Event) error {
	data, err := event.Encode(e)
	if err != nil {
		return err
	}
	w.Events++
	return w.line(line{Event: data})
}

// Has reports whether a content was written already.
func (w *Writer) Has(h merkle.Hash) bool { return w.seen[h] }

// Content writes a content once.
func (w *Writer) Content(data []byte) error {
	h := merkle.Hash(sha256.Sum256(data))
	if w.seen[h] {
		return nil
	}
	w.seen[h] = true
	w.Contents++
	l := line{Content: &h}
	if text := string(data); utf8.ValidString(text) {
		l.Text = &text
	} else {
		l.Base64 = data
	}
	return w.line(l)
}

// Close writes what is buffered.
func (w *Writer) Close() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// History is a history file in memory.
type History struct {
	Events   []event.Event
	Contents map[merkle.Hash][]byte
}

// ErrFormat is wrapped by errors about a file that is no history, or a damaged one.
var ErrFormat = errors.New("not a history file")

// Read reads a whole history and checks every content against its hash.
func Read(r io.Reader) (History, error) {
	h := History{Contents: map[merkle.Hash][]byte{}}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; scanner.Scan(); number++ {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return h, fmt.Errorf("%w: line %d: %w", ErrFormat, number, err)
		}
		if number == 1 {
			if l.Version != formatVersion {
				return h, fmt.Errorf("%w: version %d, this binary reads %d", ErrFormat, l.Version, formatVersion)
			}
			continue
		}
		if err := h.add(l); err != nil {
			return h, fmt.Errorf("%w: line %d: %w", ErrFormat, number, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return h, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(h.Events) == 0 {
		return h, fmt.Errorf("%w: it holds no event", ErrFormat)
	}
	return h, nil
}

func (h *History) add(l line) error {
	switch {
	case l.Event != nil:
		e, err := event.Decode(l.Event)
		if err != nil {
			return err
		}
		h.Events = append(h.Events, e)
	case l.Content != nil:
		data := l.Base64
		if l.Text != nil {
			data = []byte(*l.Text)
		}
		if merkle.Hash(sha256.Sum256(data)) != *l.Content {
			return fmt.Errorf("content %s does not have this hash", l.Content.Short())
		}
		h.Contents[*l.Content] = data
	default:
		return errors.New("neither an event nor a content")
	}
	return nil
}

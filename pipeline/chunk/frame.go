package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is a length in four bytes, big endian, and that many bytes. A request is one byte
// for how much work it is worth, the length of the language's name as a uvarint, the name and
// the content; a reply is one status byte and the syntax or a message.

// protocol is the version of the requests and replies.
const protocol = 2

// effort is how much work a request is worth.
type effort byte

const (
	effortFull effort = iota + 1 // all the steps that a content has
	effortTry                    // the steps of an ordinary content
)

// The statuses of a reply.
const (
	replySyntax byte = iota + 1
	replyGaveUp
	replyLate
	replySlow // to effortTry alone
)

// The largest frames that are read. A syntax is smaller than its content times a small
// factor, but for contents of a few bytes a line.
const (
	maxRequest = MaxBytes + 1<<10
	maxReply   = 128 << 20
)

var errFrameTooLarge = errors.New("frame too large")

func writeFrame(w io.Writer, payload []byte) error {
	frame := make([]byte, 4, 4+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	if _, err := w.Write(append(frame, payload...)); err != nil {
		return fmt.Errorf("write frame of %d bytes: %w", len(payload), err)
	}
	return nil
}

// readFrame reads one frame of at most limit bytes. It returns io.EOF at the end of the input
// between two frames.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read frame: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return nil, fmt.Errorf("read frame of %d bytes: %w", n, errFrameTooLarge)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, fmt.Errorf("read frame of %d bytes: %w", n, errors.Join(io.ErrUnexpectedEOF, err))
	}
	return payload, nil
}

func encodeRequest(e effort, language string, content []byte) []byte {
	request := make([]byte, 0, 1+binary.MaxVarintLen64+len(language)+len(content))
	request = append(request, byte(e))
	request = binary.AppendUvarint(request, uint64(len(language)))
	request = append(request, language...)
	return append(request, content...)
}

var errBadRequest = errors.New("bad request")

func decodeRequest(request []byte) (e effort, language string, content []byte, err error) {
	if len(request) == 0 || request[0] < byte(effortFull) || request[0] > byte(effortTry) {
		return 0, "", nil, errBadRequest
	}
	e, request = effort(request[0]), request[1:]
	n, size := binary.Uvarint(request)
	if size <= 0 || n > uint64(len(request)-size) {
		return 0, "", nil, errBadRequest
	}
	end := size + int(n)
	return e, string(request[size:end]), request[end:], nil
}

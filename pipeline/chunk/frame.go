package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is a length in four bytes, big endian, and that many bytes. A request is the
// length of the language's name as a uvarint, the name and the content; a reply is one
// status byte and the syntax or a message.

// The statuses of a reply.
const (
	replySyntax byte = iota + 1
	replyGaveUp
	replyLate
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

func encodeRequest(language string, content []byte) []byte {
	request := make([]byte, 0, binary.MaxVarintLen64+len(language)+len(content))
	request = binary.AppendUvarint(request, uint64(len(language)))
	request = append(request, language...)
	return append(request, content...)
}

var errBadRequest = errors.New("bad request")

func decodeRequest(request []byte) (language string, content []byte, err error) {
	n, size := binary.Uvarint(request)
	if size <= 0 || n > uint64(len(request)-size) {
		return "", nil, errBadRequest
	}
	end := size + int(n)
	return string(request[size:end]), request[end:], nil
}

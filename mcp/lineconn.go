package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineConn is a connection over a pair of streams, one message a line. Unlike the SDK's it
// survives a line that is too long or malformed: it answers with an error and reads on.
type lineConn struct {
	frames <-chan inputLine
	grace  time.Duration
	exact  exactNumbers

	writing sync.Mutex // held while a line is written
	out     io.Writer

	mu      sync.Mutex          // guards what follows
	pending map[jsonrpc.ID]bool // true for what the client does not cancel
	idle    chan struct{}       // closed when the input has ended and nothing is pending
	ended   bool

	closing sync.Once
	closed  chan struct{}
}

// inputLine is a line of the input, or the error of reading one.
type inputLine struct {
	data []byte
	err  error
}

var errLineTooLong = errors.New("the line is too long")

// newLineConn returns a connection and starts to read. Lines have at most limit bytes. After
// the end of the input, requests under way have the time grace to be answered. The reading
// goroutine ends with the input; where reads cannot be interrupted, with the process.
func newLineConn(in io.Reader, out io.Writer, limit int, grace time.Duration) *lineConn {
	frames := make(chan inputLine)
	c := &lineConn{
		frames: frames, grace: grace, out: out, exact: newExactNumbers(),
		pending: map[jsonrpc.ID]bool{}, idle: make(chan struct{}), closed: make(chan struct{}),
	}
	go func() {
		reader := bufio.NewReaderSize(in, 64<<10)
		for {
			data, err := readLine(reader, limit)
			select {
			case frames <- inputLine{data, err}:
			case <-c.closed:
				return
			}
			if err != nil && !errors.Is(err, errLineTooLong) {
				return
			}
		}
	}()
	return c
}

// Connect returns the connection: it is its own transport.
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// readLine reads a line without its newline, which the last line may lack. A line longer than
// limit is skipped and gives errLineTooLong.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit+1; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && errors.Is(err, io.EOF):
			return nil, errLineTooLong
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		case long:
			return nil, errLineTooLong
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// Read returns the next message. A malformed line is answered with an error and skipped.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case f := <-c.frames:
			switch {
			case errors.Is(f.err, errLineTooLong):
				c.refuse(jsonrpc.CodeInvalidRequest, f.err.Error())
			case f.err != nil:
				c.drain(ctx)
				return nil, f.err
			case len(bytes.TrimSpace(f.data)) > 0:
				if msg := c.accept(f.data); msg != nil {
					return msg, nil
				}
			}
		}
	}
}

// accept decodes a line. It refuses a malformed one and returns nil.
func (c *lineConn) accept(data []byte) jsonrpc.Message {
	if err := checkMessage(data); err != nil {
		c.refuse(jsonrpc.CodeParseError, err.Error())
		return nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		c.refuse(jsonrpc.CodeInvalidRequest, errBatch.Error())
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(c.exact.in(data))
	if err != nil {
		c.refuse(jsonrpc.CodeInvalidRequest, err.Error())
		return nil
	}
	if request, ok := msg.(*jsonrpc.Request); ok {
		c.track(request)
	}
	return msg
}

// track records the requests that wait for an answer, and which of them were cancelled.
func (c *lineConn) track(request *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if request.ID.IsValid() {
		c.pending[request.ID] = true
		return
	}
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if request.Method != "notifications/cancelled" || json.Unmarshal(request.Params, &cancelled) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(cancelled.RequestID); err == nil && c.pending[id] {
		c.pending[id] = false
	}
}

// refuse answers a malformed line with an error without an ID.
func (c *lineConn) refuse(code int64, message string) {
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
	if err == nil {
		_ = c.writeLine(data) // the client may not be reading
	}
}

// drain waits until every request is answered, at most for the grace period: a client may
// write all its requests and close its side.
func (c *lineConn) drain(ctx context.Context) {
	c.mu.Lock()
	c.ended = true
	c.closeIfIdle()
	c.mu.Unlock()
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-c.idle:
	case <-timer.C:
	case <-ctx.Done():
	case <-c.closed:
	}
}

// closeIfIdle closes idle once the input has ended and nothing is pending. The caller holds
// mu.
func (c *lineConn) closeIfIdle() {
	if !c.ended || len(c.pending) > 0 {
		return
	}
	select {
	case <-c.idle:
	default:
		close(c.idle)
	}
}

// Write writes a message as a line. The answer to a cancelled request is not written, as the
// protocol demands.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	response, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.writeMessage(msg)
	}
	c.mu.Lock()
	wanted, known := c.pending[response.ID]
	c.mu.Unlock()
	var err error
	if wanted || !known {
		err = c.writeMessage(msg)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, response.ID)
	c.closeIfIdle()
	return err
}

func (c *lineConn) writeMessage(msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.writeLine(c.exact.out(data))
}

func (c *lineConn) writeLine(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close ends the connection and cancels the calls under way. It does not close the streams,
// which belong to the caller.
func (c *lineConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: the streams are the session.
func (*lineConn) SessionID() string { return "" }

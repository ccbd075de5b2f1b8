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

// lines is a connection over a pair of streams, one message a line. Unlike the SDK's it
// outlives a line that is too long or makes no sense: it refuses the line and reads on.
type lines struct {
	frames <-chan frame
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

// frame is a line of the input, or why there is none.
type frame struct {
	data []byte
	err  error
}

var errLineTooLong = errors.New("the line is too long")

// newLines makes a connection and begins to read. Lines have at most limit bytes. After the
// input ended, answers to what was asked are waited for during grace. The goroutine that
// reads ends with the input, or with the process where the input is one that cannot be
// interrupted.
func newLines(in io.Reader, out io.Writer, limit int, grace time.Duration) *lines {
	frames := make(chan frame)
	c := &lines{
		frames: frames, grace: grace, out: out, exact: newExactNumbers(),
		pending: map[jsonrpc.ID]bool{}, idle: make(chan struct{}), closed: make(chan struct{}),
	}
	go func() {
		reader := bufio.NewReaderSize(in, 64<<10)
		for {
			data, err := readLine(reader, limit)
			select {
			case frames <- frame{data, err}:
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
func (c *lines) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// readLine reads a line without its end. Of one that is longer than limit it keeps nothing
// and reads on to its end. A last line may lack its newline.
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

// Read returns the next message. What cannot be one is answered with an error and skipped.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
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

// accept decodes a line, or refuses it and returns nil.
func (c *lines) accept(data []byte) jsonrpc.Message {
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
		c.note(request)
	}
	return msg
}

// note keeps which requests wait for an answer, and which of them were cancelled.
func (c *lines) note(request *jsonrpc.Request) {
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

// refuse answers a line that names no request.
func (c *lines) refuse(code int64, message string) {
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
	if err == nil {
		_ = c.writeLine(data) // whoever does not read gets no refusal
	}
}

// drain waits after the end of the input until every request is answered, at most for the
// grace: a client may write all its requests and close.
func (c *lines) drain(ctx context.Context) {
	c.mu.Lock()
	c.ended = true
	c.settle()
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

// settle closes idle once nothing is pending any more. The caller holds mu.
func (c *lines) settle() {
	if !c.ended || len(c.pending) > 0 {
		return
	}
	select {
	case <-c.idle:
	default:
		close(c.idle)
	}
}

// Write writes a message as a line. The answer to a request that was cancelled is not
// written: the client has forgotten the request.
func (c *lines) Write(_ context.Context, msg jsonrpc.Message) error {
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
	c.settle()
	return err
}

func (c *lines) writeMessage(msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return c.writeLine(c.exact.out(data))
}

func (c *lines) writeLine(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close ends the connection, and with it the calls under way. It does not close the
// streams, which belong to the caller.
func (c *lines) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: the streams are the session.
func (*lines) SessionID() string { return "" }

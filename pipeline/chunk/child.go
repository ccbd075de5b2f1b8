package chunk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/freshet/freshet/store"
)

// Limits of a child process.
const (
	childMemory     = 2 << 30 // bytes of data
	childSoftMemory = 512 << 20
	childCPU        = 20 * time.Second // for one content, ten times the time of its steps
	tryCPU          = time.Second      // for a try
	exitCPU         = 124
)

// ServeChild is the loop of a child process: it reads requests from r and writes replies to
// w until r ends, and returns nil then. It sandboxes the process irreversibly: no files,
// network, processes or signals to others, bounded memory and CPU time. The process ends
// with its parent and ignores interrupts, which the parent handles. Call it in a process
// that does nothing else.
func ServeChild(r io.Reader, w io.Writer) error {
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(childSoftMemory)
	debug.SetGCPercent(200)
	signal.Ignore(os.Interrupt)
	if err := endWithParent(); err != nil {
		return fmt.Errorf("tie the child to its parent: %w", err)
	}
	expired := make(chan os.Signal, 1)
	signal.Notify(expired, syscall.SIGXCPU)
	defer signal.Stop(expired)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-expired:
			fmt.Fprintln(os.Stderr, "CPU time used up")
			os.Exit(exitCPU)
		case <-done:
		}
	}()
	return serve(r, w, applySandbox(sandboxLayers()))
}

// serve writes the hello frame, with the missing layers of the sandbox, and answers requests
// until r ends.
func serve(r io.Reader, w io.Writer, lacks []string) error {
	worth := effortFull
	c := newCutter(func(size int) int {
		if worth == effortTry {
			return tryLimit(size)
		}
		return stepLimit(size)
	})
	defer c.close()
	in := bufio.NewReaderSize(r, 64<<10)
	if err := writeFrame(w, []byte(strings.Join(append([]string{helloText()}, lacks...), "\n"))); err != nil {
		return err
	}
	var reply []byte
	for {
		request, err := readFrame(in, maxRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var language string
		var content []byte
		if worth, language, content, err = decodeRequest(request); err != nil {
			return err
		}
		allowed := childCPU
		if worth == effortTry {
			allowed = tryCPU
		}
		if err := allowCPU(allowed); err != nil {
			return fmt.Errorf("limit the child's CPU time: %w", err)
		}
		s, err := c.cut(language, content)
		switch {
		case err != nil && worth == effortTry:
			reply = append(append(reply[:0], replySlow), err.Error()...)
		case errors.Is(err, errTimeUsedUp):
			reply = append(append(reply[:0], replyLate), err.Error()...)
		case err != nil:
			reply = append(append(reply[:0], replyGaveUp), err.Error()...)
		default:
			reply = store.AppendSyntax(append(reply[:0], replySyntax), s)
		}
		if err := writeFrame(w, reply); err != nil {
			return err
		}
	}
}

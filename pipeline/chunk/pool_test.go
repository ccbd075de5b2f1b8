package chunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/store"
)

// childVerb makes this test's binary a child; the others are children that misbehave.
const (
	childVerb = "CHUNK_TEST_CHILD"
	honest    = "honest"
	hanging   = "hanging"
	killed    = "killed"
	late      = "late"
	crashing  = "crashing"
	silent    = "silent"
	foreign   = "foreign"
	probing   = "probing"
	lacking   = "lacking"
)

func TestMain(m *testing.M) {
	if verb := os.Getenv(childVerb); verb != "" {
		os.Exit(runChild(verb))
	}
	goleak.VerifyTestMain(m)
}

// runChild is what a child process of the tests does.
func runChild(verb string) int {
	switch verb {
	case honest:
		if err := ServeChild(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	case probing:
		return probe(os.Getenv(probedLayers))
	case lacking:
		lacks := applySandbox([]sandboxLayer{{"landlock", func() error { return errors.New("the kernel has none") }}})
		_ = serve(os.Stdin, os.Stdout, lacks)
		return 0
	case silent:
		select {}
	case foreign:
		_ = writeFrame(os.Stdout, []byte("freshet chunk child 0"))
	default:
		_ = writeFrame(os.Stdout, []byte(helloText()))
	}
	_, _ = readFrame(os.Stdin, maxRequest)
	switch verb {
	case killed:
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	case late:
		return exitCPU
	case hanging:
		_, _ = readFrame(os.Stdin, maxRequest) // for ever: nothing more is sent
	}
	panic("crashed on purpose")
}

func newPool(t testing.TB, verb string, opts Options) *Pool {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.Command = []string{executable}
	opts.Env = append(opts.Env, childVerb+"="+verb)
	p, err := NewPool(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

const goSource = "package p\n\n// F does.\nfunc F() { g() }\n"

func TestPoolCutsAsCutDoes(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 2})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			content := []byte(strings.Repeat(goSource, i))
			got, err := p.Cut(t.Context(), "Go", content)
			if err != nil {
				t.Errorf("cut: %v", err)
			}
			if want := Cut("Go", content); !reflect.DeepEqual(got, want) {
				t.Errorf("pool cut\n%+v\nwant\n%+v", got, want)
			}
		})
	}
	group.Wait()
}

func TestPoolCutsUnknownLanguagesByLines(t *testing.T) {
	t.Parallel()
	p := newPool(t, silent, Options{})
	s, err := p.Cut(t.Context(), "Befunge", []byte("v\n"))
	if err != nil || s.Cut != store.CutLines {
		t.Errorf("cut is %q, %v", s.Cut, err)
	}
}

func TestPoolBlamesTheContentForACrash(t *testing.T) {
	t.Parallel()
	p := newPool(t, crashing, Options{Children: 1})
	for range 2 {
		_, err := p.Cut(t.Context(), "Go", []byte(goSource))
		var died *ChildDied
		if !errors.As(err, &died) {
			t.Fatalf("error is %v, want a ChildDied", err)
		}
		if !strings.Contains(died.Reason, "exit status 2") || !strings.Contains(died.Stderr, "crashed on purpose") {
			t.Errorf("died of %q, stderr %q", died.Reason, died.Stderr)
		}
	}
}

// TestTheClockConvictsNoContent holds promise 6: a child that gives no answer in time, that
// is killed or that used up its CPU time says nothing about its content, which must not be
// cut otherwise for it.
func TestTheClockConvictsNoContent(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]string{hanging: "no answer within", killed: "killed", late: "exit status 124"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			timeout := time.Duration(0)
			if verb == hanging {
				timeout = 2 * time.Second
			}
			p := newPool(t, verb, Options{Children: 1, Timeout: timeout})
			_, err := p.Cut(t.Context(), "Go", []byte(goSource))
			var lost *ChildLost
			if !errors.As(err, &lost) || !strings.Contains(lost.Reason, want) || errors.As(err, new(*ChildDied)) {
				t.Errorf("error is %v, want a ChildLost: %s", err, want)
			}
		})
	}
}

func TestPoolDoesNotBlameTheContentForItsStart(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{silent, foreign, "/does/not/exist"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, verb, Options{Children: 1, Timeout: 300 * time.Millisecond})
			if verb[0] == '/' {
				p.opts.Command = []string{verb}
			}
			_, err := p.Cut(t.Context(), "Go", []byte(goSource))
			if died := (*ChildDied)(nil); err == nil || errors.As(err, &died) {
				t.Errorf("error is %v, want one that is no ChildDied", err)
			}
		})
	}
}

func TestPoolSurvivesRandomKills(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 2})
	want := Cut("Go", []byte(goSource))
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		c := <-p.slots
		if c != nil && random.IntN(2) == 0 {
			c.kill()
			if random.IntN(2) == 0 {
				<-c.exited
			}
		}
		p.slots <- c
		s, err := p.Cut(t.Context(), "Go", []byte(goSource))
		if errors.As(err, new(*ChildLost)) {
			s, err = p.Cut(t.Context(), "Go", []byte(goSource))
		}
		if errors.As(err, new(*ChildLost)) { // the other child was killed as well
			s, err = p.Cut(t.Context(), "Go", []byte(goSource))
		}
		if err != nil || !reflect.DeepEqual(s, want) {
			t.Fatalf("cut after a kill: %v", err)
		}
	}
}

func TestPoolCutEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPool(t, hanging, Options{Children: 1})
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := p.Cut(ctx, "Go", []byte(goSource))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*ChildDied)) {
			t.Errorf("error is %v, want that of the context", err)
		}
	}
}

func TestPoolClosesTwice(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 1})
	if _, err := p.Cut(t.Context(), "Go", []byte(goSource)); err != nil {
		t.Fatal(err)
	}
	c := <-p.slots
	p.slots <- c
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !c.ended() {
		t.Error("the child outlived its pool")
	}
	if _, err := p.Cut(t.Context(), "Go", []byte(goSource)); !errors.Is(err, ErrPoolClosed) {
		t.Errorf("cut after close: %v, want ErrPoolClosed", err)
	}
}

// TestChildEndsWithItsInput shows that no child is orphaned: without a kill it ends, and
// ends well, when its standard input does.
func TestChildEndsWithItsInput(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 1})
	c, err := startChild(p.opts.Command, p.opts.Env, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.in.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-c.exited:
	case <-time.After(5 * time.Minute):
		t.Error("the child lives on after the end of its input")
	}
	if state := c.stop(); state != "exit status 0" {
		t.Errorf("the child ended with %s", state)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := writeFrame(&b, encodeRequest(effortTry, "Go", []byte("package p"))); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(b.Bytes())
	frame, err := readFrame(&b, maxRequest)
	if err != nil {
		t.Fatal(err)
	}
	worth, language, content, err := decodeRequest(frame)
	if err != nil || worth != effortTry || language != "Go" || string(content) != "package p" {
		t.Errorf("decoded %q, %q, %v", language, content, err)
	}
	if _, err := readFrame(bytes.NewReader(whole), 3); !errors.Is(err, errFrameTooLarge) {
		t.Errorf("a frame over the limit: %v", err)
	}
	for n := 1; n < len(whole); n++ {
		if _, err := readFrame(bytes.NewReader(whole[:n]), maxRequest); err == nil {
			t.Errorf("a frame cut at %d was read", n)
		}
	}
	for _, bad := range [][]byte{nil, {1, 5, 'G'}, {0, 1, 'G'}, {9, 1, 'G'}, bytes.Repeat([]byte{0xff}, 12)} {
		if _, _, _, err := decodeRequest(bad); !errors.Is(err, errBadRequest) {
			t.Errorf("request %v: %v", bad, err)
		}
	}
}

package chunk

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
)

// A try ends at a content that takes a parser long, by its steps, which leave the child as it
// was, or by its CPU time; every fixture is ordinary, and tried it is cut as it is at full
// effort.
func TestTryEndsAtSlowContentsAlone(t *testing.T) {
	t.Parallel()
	if !stepsCounted {
		t.Skip("steps are not counted on this system")
	}
	p := newPool(t, honest, Options{Children: 1})
	long := map[string][]byte{
		"C++":   bytes.Repeat([]byte(`r#"`), 3_000),
		"C":     bytes.Repeat([]byte("f("), 5_000),
		"Shell": bytes.Repeat([]byte("<<A\n"), 300),
	}
	var first *child
	for _, l := range languages() {
		content := fixtureSource(t, l.name)
		got, err := p.Try(t.Context(), l.name, content)
		if err != nil || !reflect.DeepEqual(got, Cut(l.name, content)) {
			t.Errorf("%s: a try of the fixture: %v, or it is cut otherwise", l.name, err)
		}
		c := <-p.slots
		if first == nil {
			first = c
		} else if c != first {
			t.Errorf("%s: the child was started again", l.name)
		}
		p.slots <- c
		if slow := long[l.name]; slow != nil {
			if _, err := p.Try(t.Context(), l.name, slow); !errors.Is(err, ErrSlow) {
				t.Errorf("%s: a try of a slow content: %v, want ErrSlow", l.name, err)
			}
		}
	}
	// It takes few steps, and its outline long.
	if _, err := p.Try(t.Context(), "JavaScript", bytes.Repeat([]byte("["), 100_000)); !errors.Is(err, ErrSlow) {
		t.Errorf("a try that uses up its CPU time: %v, want ErrSlow", err)
	}
	if _, err := p.Try(t.Context(), "Go", []byte(goSource)); err != nil {
		t.Errorf("a try after that: %v", err)
	}
}

// However many contents are cut at full effort, one child is left to tries.
func TestSlowCutsLeaveAChildToTries(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 3})
	for range 2 {
		p.slow <- struct{}{}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := p.Cut(ended, "Go", []byte(goSource)); !errors.Is(err, context.Canceled) {
		t.Errorf("a third cut at full effort of a pool of three: %v, want it to wait", err)
	}
	if s, err := p.Try(t.Context(), "Go", []byte(goSource)); err != nil || !reflect.DeepEqual(s, Cut("Go", []byte(goSource))) {
		t.Errorf("a try beside two cuts at full effort: %v", err)
	}
}

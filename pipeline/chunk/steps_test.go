//go:build linux

package chunk

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// slowContents take a grammar long: by many actions, by reading the rest again for each
// token, or by copying the children of an error again and again.
func slowContents() map[string][]byte {
	return map[string][]byte{
		"C++":        bytes.Repeat([]byte(`r#"`), 600),
		"C":          bytes.Repeat([]byte("f("), 1_000),
		"JavaScript": bytes.Repeat([]byte("["), 5_000),
		"Shell":      bytes.Repeat([]byte("<<A\n"), 300),
	}
}

// TestCutDependsOnWorkAlone counts the steps of a parse on an idle machine, then beside many
// busy goroutines, in parsers that are new and in one that parsed much before. The numbers
// are equal, so that a limit in steps cuts every content in the same way everywhere.
func TestCutDependsOnWorkAlone(t *testing.T) {
	steps := map[string]int{}
	c := newCutter(func(int) int { return 1 << 30 })
	defer c.close()
	count := func(c *cutter, language string, content []byte) int {
		if _, err := c.cut(language, content); err != nil {
			t.Fatal(err)
		}
		return c.readers[language].(*grammarReader).steps
	}
	for language, content := range slowContents() {
		if steps[language] = count(c, language, content); steps[language] < 2 {
			t.Errorf("%s: %d steps are counted for %d bytes", language, steps[language], len(content))
		}
	}
	defer busy(t, 2*runtime.GOMAXPROCS(0))()
	var group sync.WaitGroup
	for language, content := range slowContents() {
		group.Go(func() {
			own := newCutter(func(int) int { return steps[language] })
			defer own.close()
			for range 2 {
				if _, err := own.cut(language, content); err != nil {
					t.Errorf("%s: with exactly its %d steps: %v", language, steps[language], err)
				}
			}
			short := newCutter(func(int) int { return steps[language] / 10 })
			defer short.close()
			if _, err := short.cut(language, content); err == nil {
				t.Errorf("%s: with a tenth of its %d steps it ended", language, steps[language])
			}
		})
	}
	group.Wait()
	for language, content := range slowContents() {
		if again := count(c, language, content); again != steps[language] {
			t.Errorf("%s: %d steps, then %d", language, steps[language], again)
		}
	}
}

// busy keeps n goroutines computing until the function that it returns was called.
func busy(t *testing.T, n int) func() {
	t.Helper()
	done := make(chan struct{})
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for sum := 0; ; sum++ {
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	return func() { close(done); group.Wait() }
}

// TestStepsBoundQuadraticContents gives up contents of the largest size, whose parse would
// take minutes, by their steps.
func TestStepsBoundQuadraticContents(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 1})
	content := bytes.Repeat([]byte(`r#"`), MaxBytes/3)
	for range 2 {
		_, err := p.Cut(t.Context(), "C++", content)
		if died := (*ChildDied)(nil); !errors.As(err, &died) || died.Stderr != "" {
			t.Fatalf("error is %v, want a ChildDied that gave up by its steps", err)
		}
	}
}

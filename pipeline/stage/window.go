package stage

import (
	"context"
	"math"
	"sync"

	"github.com/freshet/freshet/pipeline/embedding"
)

// window bounds how many texts are with a provider at once, and so what is paid for twice when
// a process is killed, a request times out or a connection breaks: it is the congestion window
// of TCP (Jacobson 1988, RFC 5681), counted in texts. It begins small, doubles while all is
// well up to a share of what was answered, falls to one text after a loss, doubles again up
// to half of what was lost at, and grows slowly from there. A provider that is not paid for
// has none: only its own limits hold. One window serves all deliveries of a process.
type window struct {
	limits embedding.Limits

	mu           sync.Mutex // guards what follows
	calls, texts int        // under way
	answered     int        // texts
	size         float64    // texts that may be under way
	threshold    float64    // where size stops doubling
	refused      int        // calls in a row
	free         chan struct{}
}

// The constants of the window.
const (
	startTexts = 64 // that may be lost when nothing is known of a provider
	lossShare  = 25 // one in so many of the texts that were answered may be lost at once
	slowGrowth = 48 // beyond the threshold the window grows by one part in so many
)

func newWindow(limits embedding.Limits) *window {
	limits.Concurrency, limits.BatchTexts = max(limits.Concurrency, 1), max(limits.BatchTexts, 1)
	w := &window{limits: limits, threshold: math.Inf(1), size: startTexts, free: make(chan struct{})}
	return w
}

// enter waits until a call may be made, and returns of how many texts, at most want.
func (w *window) enter(ctx context.Context, want int) (int, error) {
	for {
		n, free := w.try(want)
		if n > 0 {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-free:
		}
	}
}

func (w *window) try(want int) (int, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.limits.BatchTexts * w.limits.Concurrency
	if w.limits.Paid {
		most = min(most, max(1, min(int(w.size), max(startTexts, w.answered/lossShare))))
	}
	n := min(want, w.limits.BatchTexts, most)
	if w.calls == w.limits.Concurrency || w.texts+n > most {
		return 0, w.free
	}
	w.calls++
	w.texts += n
	return n, nil
}

// shrink gives back the places of texts that the call does not need after all.
func (w *window) shrink(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts -= n
	w.wake()
}

// outcome is how a call ended.
type outcome uint8

const (
	outcomeAnswered outcome = iota + 1
	outcomeRefused          // nothing was done, nothing is paid for
	outcomeLost             // the texts may have been paid for
)

// leave ends a call of n texts.
func (w *window) leave(n int, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls--
	w.texts -= n
	switch o {
	case outcomeAnswered:
		w.refused = 0
		w.answered += n
		if w.size < w.threshold {
			w.size = min(w.size+float64(n), max(w.threshold, w.size))
		} else {
			w.size += float64(n) / slowGrowth
		}
		w.size = min(w.size, float64(w.limits.BatchTexts*w.limits.Concurrency))
	case outcomeLost:
		if w.size > 1 { // else it has fallen already, by a call that was under way beside this one
			w.threshold = max(float64(n)/2, 1)
		}
		w.size = 1
	case outcomeRefused:
		// The second in a row may be refused because it is too large for what is left of a
		// limit of tokens.
		if w.refused++; w.refused > 1 {
			w.size = max(w.size/2, 1)
		}
	}
	w.wake()
}

// wake has those who wait look again. The caller holds mu.
func (w *window) wake() {
	close(w.free)
	w.free = make(chan struct{})
}

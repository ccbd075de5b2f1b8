package search

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Two callers that rerank the same at once use one order: that of the first with scores.
func TestOrdersAgree(t *testing.T) {
	t.Parallel()
	var o orders
	key, now := orderKey{1}, time.Unix(0, 0)
	failed, first, second := order{why: "down"}, order{scores: []float64{1, 2}}, order{scores: []float64{2, 1}}
	for _, step := range []struct {
		name       string
		keep, want order
		after      time.Duration
	}{
		{"nothing better than a failure", failed, failed, 0},
		{"the first scores", first, first, 0},
		{"they stay", second, first, orderTime},
		{"even after a failure", failed, first, 0},
		{"until they are old", second, second, time.Second},
	} {
		now = now.Add(step.after)
		if got := o.keep(key, step.keep, now); !cmp.Equal(got, step.want, cmp.AllowUnexported(order{})) {
			t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
		}
	}
}

func TestOrdersAreBounded(t *testing.T) {
	t.Parallel()
	var o orders
	now := time.Unix(0, 0)
	for i := range 2 * maxOrders {
		o.keep(orderKey{byte(i), byte(i >> 8)}, order{why: "down"}, now.Add(time.Duration(i)*time.Millisecond))
	}
	if o.held.Len() != maxOrders {
		t.Errorf("%d orders are held, want %d", o.held.Len(), maxOrders)
	}
	for i, want := range map[int]bool{0: false, maxOrders - 1: false, maxOrders: true, 2*maxOrders - 1: true} {
		if _, held := o.find(orderKey{byte(i), byte(i >> 8)}, now); held != want {
			t.Errorf("order %d is held: %v, want %v", i, held, want)
		}
	}
}

package eval

import (
	"testing"
	"time"
)

func TestSpeed(t *testing.T) {
	t.Parallel()
	r := newReport(nil)
	if got := r.Speed(); got != (Speed{}) {
		t.Errorf("of nothing it is %+v", got)
	}
	r.watch.indexed = []time.Duration{30, 10, 20, 100}
	for i := range 100 {
		r.watch.answered = append(r.watch.answered, time.Duration(100-i))
	}
	if got, want := r.Speed(), (Speed{40, 20, 50, 95, 100}); got != want {
		t.Errorf("it is %+v, want %+v", got, want)
	}
}

package merklesync

import "time"

// Lull returns how long a storm takes to be over in which changes come every 10 ms while
// changing says so, and git holds a lock while busy says so.
func Lull(changing, busy func() bool) time.Duration {
	l := newDebouncer(Watching{})
	defer l.stop()
	began := time.Now()
	changes := time.NewTicker(10 * time.Millisecond)
	defer changes.Stop()
	l.heard()
	for {
		select {
		case <-changes.C:
			if changing() {
				l.heard()
			}
		case <-l.over():
			if !l.extend(busy()) {
				return time.Since(began)
			}
		}
	}
}

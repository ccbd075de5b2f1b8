package scan

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

const (
	// coarseGranularity is that of the coarsest file systems, which show whole seconds.
	coarseGranularity = 2 * time.Second
	// skew is how far the clock of a file server may run ahead of ours.
	skew = 24 * time.Hour
)

// clock is the moment a scan began, by which it judges times.
type clock struct {
	start       int64
	granularity int64
	stamp       func(int64) int64
}

// fileClock is the clock that the kernel stamps files with. It stands between two ticks of
// the timer: a few milliseconds behind time.Now, and as far behind as the processor that
// keeps the time was not scheduled where that is a virtual one. By time.Now such a stamp
// would look older than the scan although it can be given again after it.
func fileClock() time.Time {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return time.Now()
	}
	return time.Unix(now.Unix())
}

func (s *Scanner) clock() clock {
	return clock{s.opts.Now().UnixNano(), int64(s.opts.Granularity), s.opts.Stamp}
}

// see applies the stand-in for a coarse file system.
func (c *clock) see(st store.Stat) store.Stat {
	if c.stamp != nil {
		st.MtimeNs, st.CtimeNs = c.stamp(st.MtimeNs), c.stamp(st.CtimeNs)
	}
	return st
}

// racy reports whether a write after the scan began could leave st as it is. The change
// time alone would do where the file system keeps one, since nobody can set it; the
// modification time stands in for it elsewhere. One far in the future was set by hand: a
// write would set it to another.
func (c *clock) racy(st store.Stat) bool {
	granularity := c.granularity
	if st.MtimeNs%int64(time.Second) == 0 && st.CtimeNs%int64(time.Second) == 0 {
		granularity = max(granularity, int64(coarseGranularity))
	}
	since := c.start - granularity
	return st.CtimeNs >= since || (st.MtimeNs >= since && st.MtimeNs < c.start+int64(skew))
}
